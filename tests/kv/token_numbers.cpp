#include "tests/kv/token_numbers.h"

#include <functional>

#include "tests/conformance/random.h"

namespace headwise {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return conformance::Rng(a, b).next(); }

}  // namespace

TokenText::TokenText(PrefixKey key) : key_(std::move(key)) {}

void TokenText::push(std::int32_t token) {
  std::uint64_t past = pasts_.empty() ? 1 : pasts_.back();
  for (const PrefixExtra& extra : key_) {
    const std::int32_t at = length() - extra.first;
    const bool is_image = extra.kind == PrefixExtra::Kind::image;
    if (is_image ? at >= 0 && at < extra.tokens : pasts_.empty())
      past = mixed(past, std::hash<std::string>()(extra.id) + std::uint64_t(is_image ? at : 0));
  }
  pasts_.push_back(mixed(past, std::uint64_t(token)));
  tokens_.push_back(token);
}

void TokenText::cut(std::int32_t length) {
  tokens_.resize(std::size_t(length));
  pasts_.resize(std::size_t(length));
}

float token_number(std::uint64_t past, const NumberPlace& place, int head, int element) {
  const auto at = std::uint64_t(((place.group * 16 + place.layer) * 2 + place.of_v) * 64 + head);
  std::uint64_t bits = (past ^ (at << 32) ^ std::uint64_t(element)) * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9ULL;
  bits ^= bits >> 32;
  return float(std::int64_t(bits >> 40) - (1 << 23)) * 0x1p-23F;
}

void add_token_rows(std::span<const std::uint64_t> pasts, const AttentionShape& shape,
                    const NumberPlace& place, std::vector<float>& rows) {
  const int dim = place.of_v ? shape.head_dim_v : shape.head_dim_qk;
  for (const std::uint64_t past : pasts)
    for (int head = 0; head < shape.kv_heads; ++head)
      for (int i = 0; i < dim; ++i) rows.push_back(token_number(past, place, head, i));
}

}  // namespace headwise
