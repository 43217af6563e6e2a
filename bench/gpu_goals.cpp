#include "bench/goals.h"

namespace headwise::bench {
namespace {

using enum Against;
using enum Suite;

constexpr std::int64_t k(std::int64_t thousands) { return thousands * 1024; }

/// What attention in BF16 is to reach on an H200; beside flash2 stands what the kernel for Ampere
/// and later is to reach there. Caches below 256 MB are read at a lower rate by any kernel:
/// launching it and merging its parts shows.
constexpr Goal kGoals[] = {
    {"q16:kv16:d128", prefill, k(2), 1, 8, {{fastest_peer, 1.12}, {flash2, 1.0}}},
    {"q16:kv16:d128", prefill, k(8), 1, 2, {{fastest_peer, 1.10}, {flash2, 1.0}}},
    {"q16:kv16:d128", prefill, k(16), 1, 1, {{fastest_peer, 1.10}, {gemm, 1.05}, {flash2, 1.0}}},
    {"q16:kv16:d128", prefill, k(16), 1, 1, {{plain, 1.15}}, "even", 1, 0, 10000},
    {"q16:kv16:d128", prefill, k(16), 1, 1, {{plain, 0.0}}, "even", 1, 0, 1},
    {"q16:kv16:d128:full", prefill, k(2), 1, 8, {{fastest_peer, 1.06}, {flash2, 1.0}}},
    {"q16:kv16:d128:full", prefill, k(8), 1, 2, {{fastest_peer, 1.08}, {flash2, 1.0}}},
    {"q16:kv16:d128:full", prefill, k(16), 1, 1, {{fastest_peer, 1.08}, {gemm, 1.06}, {flash2, 1}}},
    {"q32:kv8:d128", prefill, k(32), 1, 1, {{fastest_peer, 1.10}, {gemm, 1.06}, {flash2, 1.0}}},
    {"q32:kv8:d128", prefill, k(128), 1, 1, {{fastest_peer, 1.10}, {gemm, 1.06}, {flash2, 1.0}}},
    {"q32:kv8:d128:full", prefill, k(32), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d128:full", prefill, k(128), 1, 1, {{flash2, 1.0}}},

    {"q32:kv32:d64", prefill, k(2), 1, 8, {{fastest_peer, 1.10}, {flash2, 1.0}}},
    {"q32:kv32:d64", prefill, k(8), 1, 2, {{fastest_peer, 1.10}, {flash2, 1.0}}},
    {"q32:kv32:d64", prefill, k(16), 1, 1, {{fastest_peer, 1.12}, {flash2, 1.0}}},
    {"q32:kv32:d64:full", prefill, k(2), 1, 8, {{fastest_peer, 1.07}, {flash2, 1.0}}},
    {"q32:kv32:d64:full", prefill, k(8), 1, 2, {{fastest_peer, 1.07}, {flash2, 1.0}}},
    {"q32:kv32:d64:full", prefill, k(16), 1, 1, {{fastest_peer, 1.06}, {flash2, 1.0}}},
    {"q32:kv8:d64", prefill, k(128), 1, 1, {{flash2, 1.0}}},

    {"q8:kv8:d256", prefill, k(2), 1, 8, {{fastest_peer, 1.04}, {flash2, 1.0}}},
    {"q8:kv8:d256", prefill, k(8), 1, 2, {{fastest_peer, 1.04}, {flash2, 1.0}}},
    {"q8:kv8:d256", prefill, k(16), 1, 1, {{fastest_peer, 1.04}, {gemm, 1.05}, {flash2, 1.0}}},
    {"q8:kv8:d256:full", prefill, k(2), 1, 8, {{fastest_peer, 1.03}, {flash2, 1.0}}},
    {"q8:kv8:d256:full", prefill, k(8), 1, 2, {{fastest_peer, 1.03}, {flash2, 1.0}}},
    {"q8:kv8:d256:full", prefill, k(16), 1, 1, {{fastest_peer, 1.03}, {gemm, 1.05}, {flash2, 1.0}}},
    {"q16:kv2:d256", prefill, k(128), 1, 1, {{flash2, 1.0}}},

    {"q16:kv16:d128", paged, k(8), k(8), 2, {{contiguous, 0.97}}},

    {"q32:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q32:kv8:d128", decode, k(128), 1, 16, {{read, 0.98}, {fastest_peer, 1.0}}},
    {"q64:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q64:kv8:d128", decode, k(128), 1, 16, {{read, 0.98}, {fastest_peer, 1.0}}},
    {"q128:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q128:kv8:d128", decode, k(128), 1, 16, {{read, 0.97}, {fastest_peer, 1.03}}},
    {"q256:kv8:d128", decode, k(128), 1, 16, {{read, 0.97}, {fastest_peer, 1.03}}},
    {"q512:kv8:d128", decode, k(128), 1, 16, {{read, 0.97}, {fastest_peer, 1.03}}},
    {"q32:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}, {fastest_peer, 1.08}}},
    {"q32:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}, {fastest_peer, 1.03}}},
    {"q64:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}}},
    {"q64:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}}},
    {"q128:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}}},
    {"q128:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}}},
    {"q16:kv1:d256", decode, k(64), 1, 8, {{fastest_peer, 1.10}}},
    {"q32:kv8:d128:page16", decode, k(1), 1, 1, {{microseconds, 5.5}, {paged_time, 0.7}}},
    {"q32:kv8:d128", decode, k(128), 1, 64, {{read, 0.95}, {fastest_peer, 1.08}}, "zipf"},
    {"q32:kv8:d128", decode, k(128), 1, 64, {{read, 0.95}, {fastest_peer, 1.08}}, "one-long"},

    {"q32:kv8:d128:f8", decode, k(8), 1, 16, {{Against::bf16, 0.53}}},
    {"q32:kv8:d128:f8", decode, k(128), 1, 16, {{Against::bf16, 0.53}, {peer_time, 0.72}}},
    {"q32:kv8:d128:f8", decode, k(32), 1, 1, {{Against::bf16, 0.62}, {peer_time, 0.72}}},
    {"q32:kv8:d128:f8", decode, k(128), 1, 1, {{Against::bf16, 0.53}, {peer_time, 0.72}}},

    {"q32:kv8:d128:w1024", decode, k(128), 1, 1, {{window, 1.1}}},
    {"q32:kv8:d128:w1024", decode, k(128), 1, 16, {{window, 1.1}}},

    {"q32:kv8:d128", paged, k(8), 1, 16, {{contiguous, 0.98}}},
    {"q32:kv8:d128", paged, k(128), 1, 1, {{contiguous, 0.98}}},

    {"q32:kv8:d128", append, k(32), 16, 1, {{peer_time, 0.92}}},
    {"q32:kv8:d128", append, k(32), 64, 1, {{peer_time, 0.95}}},
    {"q32:kv8:d128", append, k(32), 256, 1, {{peer_time, 0.96}}},
    {"q32:kv8:d128", append, k(32), 512, 1, {{peer_time, 0.93}}},
    {"q32:kv8:d128", append, k(128), 16, 1, {{peer_time, 0.92}}},
    {"q32:kv8:d128", append, k(128), 64, 1, {{peer_time, 0.95}}},
    {"q32:kv8:d128", append, k(128), 256, 1, {{peer_time, 0.96}}},
    {"q32:kv8:d128", append, k(128), 512, 1, {{peer_time, 0.93}}},
    {"q32:kv8:d128:page16", append, k(32), 16, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(32), 64, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(32), 256, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(32), 512, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(128), 16, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(128), 64, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(128), 256, 1, {{vllm_time, 0.86}}},
    {"q32:kv8:d128:page16", append, k(128), 512, 1, {{vllm_time, 0.86}}},

    {"q32:kv8:d128", mixed, k(2), 1, 128, {{parts, 0.85}, {peer_time, 0.85}}, "even", 2},
    {"q32:kv8:d128",
     decode,
     k(33),
     1,
     64,
     {{unshared, 0.095}, {peer_time, 0.75}},
     "even",
     1,
     k(32)},
};

}  // namespace

std::span<const Goal> gpu_goals() { return kGoals; }

}  // namespace headwise::bench
