#include "bench/goals.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace headwise::bench {
namespace {

using enum Against;
using enum Suite;

constexpr std::array<std::string_view, 19> kNames{"",
                                                  "x fastest peer",
                                                  "x PyTorch",
                                                  "x FlashAttention-2",
                                                  "of GEMM",
                                                  "of dot",
                                                  "of FMA",
                                                  "of read",
                                                  "of read or dot/2/group",
                                                  "x contiguous",
                                                  "x BF16's time",
                                                  "x its parts' time",
                                                  "x its window's time",
                                                  "x unshared time",
                                                  "x time without outliers",
                                                  "x fastest peer's time",
                                                  "x fastest paged peer's time",
                                                  "x vLLM's FA3's time",
                                                  "us"};

constexpr std::int64_t k(std::int64_t thousands) { return thousands * 1024; }

/// Of processors with AVX-512; BF16 dot products where they have them.
constexpr Goal kVectorGoals[] = {
    {"q32:kv8:d128", prefill, k(4), 1, 1, {{fastest_peer, 1.2}, {dot, 0.80}}},
    {"q8:kv2:d128", prefill, k(16), 1, 1, {{fastest_peer, 1.2}, {dot, 0.80}}},
    {"q32:kv8:d64", prefill, k(4), 1, 1, {{fastest_peer, 1.2}, {dot, 0.68}}},
    {"q16:kv4:d256", prefill, k(4), 1, 1, {{fastest_peer, 1.12}, {dot, 0.84}}},
    {"q32:kv8:d64:f32", prefill, k(4), 1, 1, {{fastest_peer, 1.1}, {fma, 0.75}}},
    {"q32:kv8:d128:f32", prefill, k(4), 1, 1, {{fastest_peer, 1.1}, {fma, 0.85}}},
    {"q16:kv4:d256:f32", prefill, k(4), 1, 1, {{fastest_peer, 1.1}, {fma, 0.85}}},

    {"q32:kv8:d128", append, k(32), 64, 1, {{fastest_peer, 1.8}, {dot, 0.62}}},
    {"q32:kv8:d128", append, k(32), 512, 1, {{fastest_peer, 1.6}, {dot, 0.70}}},
    {"q32:kv8:d128:f32", append, k(32), 64, 1, {{fastest_peer, 1.4}}},
    {"q32:kv8:d128:f32", append, k(32), 512, 1, {{fastest_peer, 1.15}}},

    {"q32:kv8:d128", decode, k(8), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv8:d128", decode, k(32), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv8:d128", decode, k(128), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(8), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(32), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(128), 1, 1, {{read_or_dot, 0.85}}},
    {"q32:kv8:d128", decode, k(8), 1, 16, {{read_or_dot, 0.85}}},
    {"q32:kv8:d128", decode, k(32), 1, 16, {{read_or_dot, 0.85}}},
    {"q32:kv8:d128", decode, k(128), 1, 16, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(8), 1, 16, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(32), 1, 16, {{read_or_dot, 0.85}}},
    {"q32:kv4:d128", decode, k(128), 1, 16, {{read_or_dot, 0.85}}},
    {"q8:kv8:d128", decode, k(32), 1, 1, {{read, 0.92}}},
    {"q8:kv8:d128", decode, k(128), 1, 1, {{read, 0.92}}},
    {"q8:kv8:d128:f32", decode, k(32), 1, 1, {{read, 0.92}}},
    {"q32:kv8:d128:f32", decode, k(32), 1, 1, {{read, 0.85}}},
    {"q32:kv4:d128:f32", decode, k(32), 1, 1, {{read, 0.80}}},

    {"q8:kv8:d128:f8", decode, k(32), 1, 1, {{bf16, 0.6}}},
    {"q32:kv8:d128:f8", decode, k(32), 1, 1, {{bf16, 0.6}}},
    {"q8:kv8:d128:i8", decode, k(32), 1, 1, {{bf16, 0.6}}},
    {"q32:kv8:d128:i8", decode, k(32), 1, 1, {{bf16, 0.6}}},

    {"q32:kv8:d128", mixed, k(4), 1, 32, {{parts, 1.02}}},
};

/// Of 16 cores with AMX.
constexpr Goal kAmxGoals[] = {
    {"q32:kv8:d128", prefill, k(4), 1, 1, {{pytorch, 1.5}}},
    {"q8:kv2:d128", prefill, k(16), 1, 1, {{pytorch, 1.5}}},
    {"q32:kv8:d128", decode, k(32), 1, 1, {{read, 0.80}}},
    {"q32:kv8:d128", decode, k(32), 1, 16, {{read, 0.80}}},
    {"q32:kv8:d128", mixed, k(4), 1, 32, {{parts, 1.02}}},
};

std::optional<double> over(std::optional<double> value, double base) {
  return value && base > 0.0 ? std::optional(*value / base) : std::nullopt;
}

std::optional<double> time_over(std::optional<double> base, const GoalEvidence& evidence) {
  return base && evidence.seconds > 0.0 ? std::optional(evidence.seconds / *base) : std::nullopt;
}

std::optional<double> measured(Against against, const GoalEvidence& evidence) {
  switch (against) {
    case nothing:
      return {};
    case fastest_peer:
      return over(evidence.fastest_peer_s, evidence.seconds);
    case pytorch:
      return over(evidence.pytorch_s, evidence.seconds);
    case flash2:
      return over(evidence.flash2_s, evidence.seconds);
    case gemm:
      return over(evidence.flops_per_s, evidence.gemm);
    case dot:
      return over(evidence.flops_per_s, evidence.dot);
    case fma:
      return over(evidence.flops_per_s, evidence.fma);
    case read:
      return over(evidence.bytes_per_s, evidence.read);
    case read_or_dot:
      // A BF16 element of the cache, 2 bytes, meets 2 FLOP of each query head of its group.
      return over(evidence.bytes_per_s,
                  std::min(evidence.read, 0.5 * evidence.dot / evidence.group));
    case contiguous:
      return evidence.time_ratio ? std::optional(1.0 / *evidence.time_ratio) : std::nullopt;
    case Against::bf16:
    case parts:
    case window:
    case unshared:
    case plain:
      return evidence.time_ratio;
    case peer_time:
      return time_over(evidence.fastest_peer_s, evidence);
    case paged_time:
      return time_over(evidence.paged_peer_s, evidence);
    case vllm_time:
      return time_over(evidence.vllm_s, evidence);
    case microseconds:
      return evidence.seconds > 0.0 ? std::optional(evidence.seconds * 1e6) : std::nullopt;
  }
  return {};
}

}  // namespace

std::string_view name_of(Against against) { return kNames[static_cast<std::size_t>(against)]; }

bool Goal::wants(Against against) const {
  return std::any_of(std::begin(targets), std::end(targets),
                     [&](const Target& target) { return target.against == against; });
}

std::string to_string(const Goal& goal) {
  std::string text = concat(name_of(goal.suite), " ", goal.shape, " ", goal.context);
  if (goal.new_tokens > 1) text += concat(" new ", goal.new_tokens);
  if (goal.batch > 1) text += concat(" batch ", goal.batch);
  if (std::string_view(goal.lens) != "even") text += concat(" ", goal.lens);
  if (goal.shared_prefix > 0) text += concat(" prefix ", goal.shared_prefix);
  if (goal.outliers > 0) text += concat(" outliers ", goal.outliers);
  return text;
}

std::span<const Goal> goals_for(const Machine& machine, int threads, DeviceType device) {
  if (device == DeviceType::cuda) return gpu_goals();
  if (machine.cpu.amx_bf16 && threads >= 16) return kAmxGoals;
  return kVectorGoals;
}

std::optional<bool> Judged::met() const {
  if (!measured || bound == 0.0) return {};
  return at_most ? *measured <= bound : *measured >= bound;
}

std::vector<Judged> judge(const Goal& goal, const GoalEvidence& evidence) {
  std::vector<Judged> judged;
  for (const auto& [against, bound] : goal.targets)
    if (against != nothing)
      judged.push_back({.what = std::string(name_of(against)),
                        .bound = bound,
                        .at_most = is_at_most(against),
                        .measured = measured(against, evidence)});
  return judged;
}

}  // namespace headwise::bench
