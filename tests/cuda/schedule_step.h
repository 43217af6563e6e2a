#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/schedule/schedule.h"

namespace headwise::cuda {

/// A step without tensors, as schedules look at it; packed, all keys from token 0 on.
struct Step {
  std::vector<std::int32_t> q_lens, kv_lens, q_start, prefix_group, prefix_tokens;
  StepBatch batch;

  Step(std::vector<std::int32_t> q, std::vector<std::int32_t> kv)
      : q_lens(std::move(q)), kv_lens(std::move(kv)), kv_start_(q_lens.size()) {
    for (std::size_t r = 0; r < q_lens.size(); ++r) q_start.push_back(kv_lens[r] - q_lens[r]);
    batch.q_lens = q_lens;
    batch.kv_lens = kv_lens;
    batch.q_start = q_start;
    batch.layout = KvLayout::packed;
    batch.kv_start = kv_start_;
  }
  Step(const Step&) = delete;

  void share(std::vector<std::int32_t> group, std::vector<std::int32_t> tokens) {
    prefix_group = std::move(group);
    prefix_tokens = std::move(tokens);
    batch.prefix_group = prefix_group;
    batch.prefix_tokens = prefix_tokens;
  }

  std::int64_t tokens() const {
    std::int64_t sum = 0;
    for (const std::int32_t q_len : q_lens) sum += q_len;
    return sum;
  }

 private:
  std::vector<std::int64_t> kv_start_;
};

inline AttentionShape shape_of(int q_heads, int kv_heads, std::int64_t window = -1) {
  return {.q_heads = q_heads,
          .kv_heads = kv_heads,
          .head_dim_qk = 128,
          .head_dim_v = 128,
          .scale = {},
          .window_left = window};
}

inline constexpr CuttingRules kRules{.blocks = 264, .most_part_rows = 50'000};

inline Schedule schedule_of(const AttentionShape& shape, const Step& step,
                            const CuttingRules& rules) {
  Schedule schedule;
  make_schedule(shape, step.batch, rules, schedule);
  return schedule;
}

}  // namespace headwise::cuda
