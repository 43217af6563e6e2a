#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/attention_shape.h"
#include "headwise/kv_binding.h"
#include "headwise/step_batch.h"

namespace headwise {

/// What a plan must have room for. Zeros stand for the first step's own numbers.
struct Capacity {
  std::int64_t requests = 0;
  std::int64_t tokens = 0;  ///< new tokens of all requests together
  std::int32_t q_len = 0;   ///< new tokens of one request
  std::int32_t kv_len = 0;  ///< keys of one request
  std::int64_t pairs =
      0;  ///< q_len * kv_len of one request; 0: q_len * kv_len where either was given
};

/// What `step` needs, each field on its own.
Capacity extent_of(const StepBatch& step);

/// One layer's arguments of a run. Pointers to scales and sinks are on the plan's device.
struct RunArgs {
  const KvBinding* kv = nullptr;  ///< made by the plan's backend, of the plan's layout
  const float* sinks = nullptr;   ///< [q_heads] logits; needed where shape.sinks
  const float* q_scale =
      nullptr;  ///< f8e4m3 q: [1], or [kv_heads] for ScaleGranularity::kv_head; null: 1
  const float* k_scale = nullptr;  ///< f8e4m3 K: the same
  const float* v_scale = nullptr;  ///< f8e4m3 V: the same; unused where shape.v_is_k_prefix
  void* workspace = nullptr;       ///< workspace_bytes() bytes, 64-byte aligned, one a stream
  void* stream = nullptr;          ///< a cudaStream_t; unused on the CPU

  // Other buffers than the step's, of the same layout; null: the step's.
  const void* q = nullptr;
  void* out = nullptr;
  float* lse = nullptr;
};

/// A step's schedule on one backend: made once, updated for every step, run once a layer.
class Plan {
 public:
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const AttentionShape& shape() const { return shape_; }
  const Capacity& capacity() const { return capacity_; }
  std::string_view backend() const { return backend_; }  ///< the one that runs
  const std::string& row() const { return row_; }        ///< its kernel row, as logs print it
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  KvLayout layout() const { return step().layout; }  ///< of its steps

  /// Takes the next step, within the capacity. Throws Error and keeps the old step if it cannot.
  void update(const StepBatch& step);

  /// Throws Error(invalid_input) where `args` lack something or do not belong to this plan; O(1).
  /// For callers that make arguments once and run often.
  void check(const RunArgs& args) const;

  /// Writes out, and lse if the step has one, for every new token of the step. Allocates nothing,
  /// reads no environment, validates nothing, does not synchronise.
  virtual void run(const RunArgs& args) = 0;

  /// Rows of q (a new token's query head; where keys are split, for each part) that the plan's runs
  /// have computed twice since it was made, because their logits left the range that a faster way
  /// counts on. Waits for the device. Absent: the backend does not count. Throws
  /// Error(not_possible).
  virtual std::optional<std::int64_t> repeated_rows() const { return {}; }

 protected:
  Plan(std::string_view backend, std::string row, const AttentionShape& shape,
       const Capacity& capacity);

  /// Lays out `step`, which is valid, within the capacity, and a copy that stays where it is; its
  /// q_start is filled in. If it throws, the old step stays.
  virtual void take(const StepBatch& step) = 0;

  /// The step that was taken last.
  const StepBatch& step() const { return steps_[current_].batch; }
  void set_workspace_bytes(std::int64_t bytes) { workspace_bytes_ = bytes; }

 private:
  struct OwnedStep {
    StepBatch batch;  ///< its spans point into the vectors
    std::vector<std::int32_t> q_lens, kv_lens, q_start, prefix_group, prefix_tokens;
    std::vector<std::int64_t> kv_start;
  };

  void adopt(const StepBatch& step);

  std::string_view backend_;
  std::string row_;
  AttentionShape shape_;
  Capacity capacity_;
  std::int64_t workspace_bytes_ = 0;
  std::array<OwnedStep, 2> steps_;  // the next one is laid out beside the current one
  int current_ = 0;
  friend class Backend;
};

/// "standard row 1 (bf16): q32:kv8:d128, 4 requests, 1032 tokens, kv 4096, workspace 12.0 MiB".
std::string to_string(const Plan& plan);

}  // namespace headwise
