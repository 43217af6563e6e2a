#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "core/check.h"
#include "tests/quality/checks.h"
#include "tests/quality/log_sum_exp.h"

namespace headwise::quality {
namespace {

constexpr double kBf16Bound = 1e-3;
constexpr double kF32Bound = 1e-5;

double term(double p, double log_q) { return p > 0.0 ? p * (std::log(p) - log_q) : 0.0; }

/// KL of the partition into the likeliest tokens, each for itself, and all others together.
double coarse_kl(const TopTokens& reference, std::span<const float> logits) {
  const double log_sum = log_sum_exp(logits);
  double kl = 0.0;
  double q_top = 0.0;
  for (std::size_t i = 0; i < reference.ids.size(); ++i) {
    const double log_q = logits[static_cast<std::size_t>(reference.ids[i])] - log_sum;
    kl += term(reference.probabilities[i], log_q);
    q_top += std::exp(log_q);
  }
  constexpr double kLeast = 1e-12;  // below it 1 - q_top is rounding
  return kl + term(reference.rest, std::log(std::max(1.0 - q_top, kLeast)));
}

double whole_kl(std::span<const float> reference, std::span<const float> logits) {
  const double log_sum = log_sum_exp(logits);
  double kl = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    kl += std::exp(double{reference[i]}) * (reference[i] - (logits[i] - log_sum));
  return kl;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

}  // namespace

Verdict check_distributions(JudgedModel& model, const Golden& golden,
                            const std::filesystem::path& rows) {
  std::ifstream file;
  if (!rows.empty()) {
    file.open(rows, std::ios::binary);
    check(file.good(), rows.string(), " cannot be read; scripts/model_oracle/quality.py makes it");
  }
  std::vector<float> whole;
  std::vector<double> kl;
  model.begin();
  model.each_logits(golden.continuations[golden.distributions_of].prompt,
                    [&](std::span<const float> logits) {
                      if (rows.empty()) {
                        kl.push_back(coarse_kl(golden.distributions[kl.size()], logits));
                        return;
                      }
                      whole.resize(logits.size());
                      file.read(reinterpret_cast<char*>(whole.data()),
                                static_cast<std::streamsize>(logits.size_bytes()));
                      check(file.good(), rows.string(), " ends after ", kl.size(), " rows");
                      kl.push_back(whole_kl(whole, logits));
                    });
  check(kl.size() == golden.distributions.size(), kl.size(), " rows of logits instead of ",
        golden.distributions.size());
  const double mean = std::accumulate(kl.begin(), kl.end(), 0.0) / static_cast<double>(kl.size());
  return {.check = concat("distributions behind ", kl.size(), " tokens"),
          .figures = concat(rows.empty() ? "KL, a lower bound of it, " : "KL ", number(mean),
                            " in the mean, ", number(*std::ranges::max_element(kl)), " at most"),
          .passed = mean < (model.maths() == Maths::f32 ? kF32Bound : kBf16Bound)};
}

}  // namespace headwise::quality
