#include "bench/goals.h"

namespace headwise::bench {
namespace {

using enum Against;
using enum Suite;

constexpr std::int64_t k(std::int64_t thousands) { return thousands * 1024; }

/// What the kernel for Ampere and later is to reach on an H200. Caches below 256 MB are read at a
/// lower rate by any kernel: launching it and merging its parts shows.
constexpr Goal kGoals[] = {
    {"q16:kv16:d128", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q16:kv16:d128", prefill, k(8), 1, 2, {{flash2, 1.0}}},
    {"q16:kv16:d128", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q16:kv16:d128:full", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q16:kv16:d128:full", prefill, k(8), 1, 2, {{flash2, 1.0}}},
    {"q16:kv16:d128:full", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d128", prefill, k(32), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d128:full", prefill, k(32), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d128", prefill, k(128), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d128:full", prefill, k(128), 1, 1, {{flash2, 1.0}}},
    {"q32:kv32:d64", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q32:kv32:d64", prefill, k(8), 1, 2, {{flash2, 1.0}}},
    {"q32:kv32:d64", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q32:kv32:d64:full", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q32:kv32:d64:full", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q32:kv8:d64", prefill, k(128), 1, 1, {{flash2, 1.0}}},
    {"q8:kv8:d256", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q8:kv8:d256", prefill, k(8), 1, 2, {{flash2, 1.0}}},
    {"q8:kv8:d256", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q8:kv8:d256:full", prefill, k(2), 1, 8, {{flash2, 1.0}}},
    {"q8:kv8:d256:full", prefill, k(16), 1, 1, {{flash2, 1.0}}},
    {"q16:kv2:d256", prefill, k(128), 1, 1, {{flash2, 1.0}}},

    {"q32:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q32:kv8:d128", decode, k(128), 1, 16, {{read, 0.85}}},
    {"q32:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}}},
    {"q32:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}}},
    {"q64:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q64:kv8:d128", decode, k(128), 1, 16, {{read, 0.85}}},
    {"q64:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}}},
    {"q64:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}}},
    {"q128:kv8:d128", decode, k(8), 1, 16, {{read, 0.85}}},
    {"q128:kv8:d128", decode, k(128), 1, 16, {{read, 0.85}}},
    {"q128:kv8:d128", decode, k(32), 1, 1, {{read, 0.65}}},
    {"q128:kv8:d128", decode, k(128), 1, 1, {{read, 0.85}}},
    {"q32:kv8:d128", decode, k(128), 1, 64, {{read, 0.80}}, "zipf"},
    {"q32:kv8:d128", decode, k(128), 1, 64, {{read, 0.80}}, "one-long"},

    {"q32:kv8:d128:f8", decode, k(8), 1, 16, {{Against::bf16, 0.6}}},
    {"q32:kv8:d128:f8", decode, k(128), 1, 16, {{Against::bf16, 0.6}}},
    {"q32:kv8:d128:f8", decode, k(128), 1, 1, {{Against::bf16, 0.6}}},

    {"q32:kv8:d128", paged, k(8), 1, 16, {{contiguous, 0.95}}},
    {"q32:kv8:d128", paged, k(128), 1, 1, {{contiguous, 0.95}}},

    {"q32:kv8:d128", mixed, k(2), 1, 128, {{parts, 1.02}}, "even", 2},
};

}  // namespace

std::span<const Goal> gpu_goals() { return kGoals; }

}  // namespace headwise::bench
