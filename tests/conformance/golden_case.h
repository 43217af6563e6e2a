#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "headwise/backend.h"

namespace headwise::conformance {

/// A case of tests/golden/oracle/make_cases.py: NAME.json says what it is, NAME.bin holds its
/// arrays, with the answer in double precision.
class GoldenCase {
 public:
  explicit GoldenCase(const std::filesystem::path& json_file);
  GoldenCase(GoldenCase&&) = default;

  const std::string& name() const { return name_; }

  /// Whether the backend can do it.
  Support explain(const Backend& backend, bool f32_out) const;

  /// Runs it. Returns what is wrong, or nothing. With f32_out the answer is not rounded to q's
  /// type, and `tight` judges it as one that was computed in double precision.
  std::string fault(const Backend& backend, bool f32_out, bool tight) const;

 private:
  StepBatch step() const;
  std::string judge(const std::vector<float>& out, const std::vector<float>& lse, double out_bound,
                    double lse_bound) const;

  std::string name_;
  std::vector<std::byte> bytes_;
  AttentionShape shape_;
  TensorView q_;
  KvView kv_;
  const float* sinks_ = nullptr;
  const float* k_scale_ = nullptr;  ///< f8e4m3
  const float* v_scale_ = nullptr;
  const double* out_ = nullptr;  ///< [tokens, q_heads, head_dim_v]
  const double* lse_ = nullptr;  ///< [tokens, q_heads]
  std::int32_t page_size_ = 0;
  std::int32_t columns_ = 0;
  std::vector<std::int32_t> q_lens_, kv_lens_, q_start_, pages_, positions_;
  double out_bound_ = 0.0;
  double lse_bound_ = 0.0;
};

/// All cases of a folder, by name.
std::vector<GoldenCase> golden_cases(const std::filesystem::path& folder);

}  // namespace headwise::conformance
