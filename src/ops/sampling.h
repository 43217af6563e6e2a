#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace headwise {

/// The index of the largest logit, the first among equals. Throws Error(invalid_input) where there
/// is none or one is NaN: a token from such logits would mean nothing.
std::int32_t argmax(std::span<const float> logits);

/// How a token is drawn from logits.
struct SamplingOptions {
  double temperature = 0.0;  ///< logits are divided by it; 0: always the largest
  int top_k = 0;             ///< only the k largest take part; 0: all
  double top_p = 1.0;        ///< then only the largest whose probabilities first reach p
  std::uint64_t seed = 0;    ///< the same seed draws the same tokens from the same logits
};

/// Draws tokens. Temperature comes first, then top_k, then top_p (Holtzman et al. 2020, section
/// 3.1), whose probabilities are those of the tokens that top_k left.
class Sampler {
 public:
  /// Throws Error(invalid_input) naming an option that is out of range.
  explicit Sampler(const SamplingOptions& options);

  /// Whether every token is the one with the largest logit.
  bool greedy() const { return options_.temperature == 0.0; }
  /// Throws Error(invalid_input) as argmax does.
  std::int32_t draw(std::span<const float> logits);

 private:
  struct Candidate {
    double weight;  // e^((logit - largest) / temperature)
    std::int32_t token;
  };
  void keep_top_p();

  SamplingOptions options_;
  std::mt19937_64 generator_;
  std::vector<Candidate> candidates_;
};

}  // namespace headwise
