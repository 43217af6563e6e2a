#include "tests/conformance/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace headwise::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kBound = 1e-6;  // the answer is rounded to f32 once

struct Key {
  std::int64_t position;
  std::vector<double> k, v;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// One row and query head.
struct Row {
  std::vector<double> out;
  double lse;
};

Row attend(const AttentionShape& shape, const std::vector<double>& q, const std::vector<Key>& keys,
           double sink) {
  const double scale = shape.scale ? static_cast<double>(*shape.scale)
                                   : static_cast<double>(static_cast<float>(
                                         1.0 / std::sqrt(static_cast<double>(shape.head_dim_qk))));
  std::vector<double> logits;
  double top = sink;
  for (const Key& key : keys) {
    double logit = dot(q, key.k) * scale;
    if (shape.softcap > 0.0F) logit = shape.softcap * std::tanh(logit / shape.softcap);
    logits.push_back(logit);
    top = std::max(top, logit);
  }
  Row row{std::vector<double>(static_cast<std::size_t>(shape.head_dim_v)), -kInf};
  if (top == -kInf) return row;
  double total = std::exp(sink - top);
  for (const double logit : logits) total += std::exp(logit - top);
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t d = 0; d < row.out.size(); ++d)
      row.out[d] += std::exp(logits[i] - top) / total * keys[i].v[d];
  row.lse = top + std::log(total);
  return row;
}

/// Keys of a request that any of its rows sees.
std::vector<Key> keys_of(const Case& c, std::size_t request, int kv_head) {
  std::vector<Key> keys;
  for (std::int32_t slot = 0; slot < c.recipe().kv_lens[request]; ++slot) {
    const std::int64_t position = c.recipe().position_of(request, kv_head, slot);
    if (c.recipe().seen_by_request(request, position))
      keys.push_back({position, c.key(request, kv_head, slot), c.value(request, kv_head, slot)});
  }
  return keys;
}

/// Judges the rows of one request as they come.
class Judge {
 public:
  explicit Judge(const Outputs& answer) : answer_(answer) {}

  void add(std::int64_t token, int head, const Row& exact) {
    const std::int64_t at = answer_.out.offset_of(token, head);
    for (std::size_t d = 0; d < exact.out.size(); ++d) {
      const double away = answer_.out.load(at + static_cast<std::int64_t>(d)) - exact.out[d];
      error_ += away * away;
      norm_ += exact.out[d] * exact.out[d];
    }
    const double lse = answer_.lse.load(answer_.lse.offset_of(token, head));
    const bool near = std::fabs(lse - exact.lse) <= kBound + 0x1p-22 * std::fabs(exact.lse);
    if (lse == exact.lse || near || !text_.str().empty()) return;
    text_ << "token " << token << " head " << head << ": LSE is " << lse << ", exact is "
          << exact.lse;
  }

  std::string fault() {
    if (text_.str().empty() && !(std::sqrt(error_) <= kBound * std::sqrt(norm_)))
      text_ << "|out - exact| is " << std::sqrt(error_) << ", |exact| is " << std::sqrt(norm_);
    return text_.str();
  }

 private:
  const Outputs& answer_;
  double error_ = 0.0;
  double norm_ = 0.0;
  std::ostringstream text_;
};

std::string fault_in_request(const Case& c, const Outputs& answer, std::size_t request,
                             std::int64_t first_token) {
  const AttentionShape& shape = c.shape();
  const int group = shape.q_heads / shape.kv_heads;
  Judge judge(answer);
  for (int kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
    const auto keys = keys_of(c, request, kv_head);
    for (std::int32_t row = 0; row < c.recipe().q_lens[request]; ++row) {
      std::vector<Key> seen;
      for (const Key& key : keys)
        if (c.recipe().seen_by_row(request, row, key.position)) seen.push_back(key);
      for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const double sink = shape.sinks ? c.sinks()[static_cast<std::size_t>(head)] : -kInf;
        judge.add(first_token + row, head,
                  attend(shape, c.query(first_token + row, head), seen, sink));
      }
    }
  }
  return judge.fault();
}

}  // namespace

std::string fault_in_reference(const Case& c, const Outputs& answer) {
  std::int64_t token = 0;
  for (std::size_t r = 0; r < c.recipe().q_lens.size(); ++r) {
    const std::string fault = fault_in_request(c, answer, r, token);
    if (!fault.empty()) return "request " + std::to_string(r) + ": " + fault;
    token += c.recipe().q_lens[r];
  }
  return {};
}

}  // namespace headwise::conformance
