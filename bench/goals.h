#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "headwise/device.h"
#include "headwise/machine.h"

namespace headwise::bench {

/// What a goal compares a time or a rate with; from bf16 on their bound is what is wanted at most.
enum class Against : std::uint8_t {
  nothing,       ///< there is no target
  fastest_peer,  ///< speed, in that of the run's fastest peer at this work
  pytorch,       ///< speed, in that of PyTorch
  flash2,        ///< speed, in that of the peer kFlash2
  gemm,          ///< FLOP/s, of the run's best matrix product
  dot,           ///< FLOP/s, of the run's BF16 dot products in registers (of F32 FMA if faster)
  fma,           ///< FLOP/s, of the run's F32 multiply-adds in registers
  read,          ///< bytes/s, of the run's best read, whoever it was that read
  read_or_dot,   ///< bytes/s, of the lesser of read and half of what dot allows the group
  contiguous,    ///< speed over pages of 16, in that over contiguous keys
  bf16,          ///< time, in that of BF16 KV at the same work
  parts,         ///< time, in that of the step's parts one after another
  window,        ///< time, in that of a context as long as the window, without one
  unshared,      ///< time, in that of the same step whose requests share no pages
  plain,         ///< time, in that of the same step without outliers
  peer_time,     ///< time, in the fastest peer's
  paged_time,    ///< time, in that of the fastest peer over pages
  vllm_time,     ///< time, in that of the peer kVllmFlash3
  microseconds,  ///< time
};

/// FlashAttention-2, as PyTorch has it on GPUs.
inline constexpr std::string_view kFlash2 = "pytorch-fa2";
/// vLLM's FlashAttention-3, over pages.
inline constexpr std::string_view kVllmFlash3 = "vllm-fa3";

std::string_view name_of(Against against);  ///< "x fastest peer"
constexpr bool is_at_most(Against against) { return against >= Against::bf16; }

struct Target {
  Against against = Against::nothing;
  double bound = 0.0;  ///< 0: it is shown, and nothing is wanted
};

/// A row of the goals: some work, and what is wanted of it.
struct Goal {
  const char* shape;
  Suite suite = Suite::prefill;
  std::int64_t context = 4096;  ///< tokens
  std::int64_t new_tokens = 1;  ///< of Suite::append; of Suite::paged, several: the prefill
  std::int64_t batch = 1;
  Target targets[3];
  const char* lens = "even";
  std::int64_t prompts = 1;        ///< of Suite::mixed
  std::int64_t shared_prefix = 0;  ///< tokens
  std::int64_t outliers = 0;       ///< Workload::outliers

  /// Whether it is judged against that.
  bool wants(Against against) const;
};

/// "decode q32:kv8:d128 131072 batch 64 zipf": what a pattern is looked for in.
std::string to_string(const Goal& goal);

/// The goals that are set for `machine` with so many threads, or for its GPUs.
std::span<const Goal> goals_for(const Machine& machine, int threads, DeviceType device);
/// Those of GPUs.
std::span<const Goal> gpu_goals();

/// A target beside what was measured.
struct Judged {
  std::string what;                ///< name_of(against)
  double bound = 0.0;              ///< 0: nothing is wanted
  bool at_most = false;            ///< whether `measured` is to be so much at most, or at least
  std::optional<double> measured;  ///< absent: it needs what this run does not have

  std::optional<bool> met() const;  ///< absent: not measured, or nothing is wanted
};

/// What a goal is judged by; absent: not measured.
struct GoalEvidence {
  double seconds = 0.0;
  double flops_per_s = 0.0;
  double bytes_per_s = 0.0;
  std::optional<double> fastest_peer_s{}, paged_peer_s{}, pytorch_s{}, flash2_s{}, vllm_s{};
  std::optional<double> time_ratio{};  ///< to the other step of our own
  double gemm = 0.0;                   ///< FLOP/s of the run
  double dot = 0.0, fma = 0.0;         ///< FLOP/s of the run
  double read = 0.0;                   ///< bytes/s of the run
  int group = 1;                       ///< query heads a KV head
};

std::vector<Judged> judge(const Goal& goal, const GoalEvidence& evidence);

}  // namespace headwise::bench
