#include "tests/kv/known_prefixes.h"

#include <algorithm>
#include <functional>

namespace headwise {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0xd1342543de82ef95;
  return a ^ (a >> 31);
}

/// Whether a page of tokens depends on an extra directly.
bool reaches(const PrefixExtra& extra, std::int64_t first, std::int64_t size) {
  if (extra.kind != PrefixExtra::Kind::image) return first == 0;
  return extra.first < first + size && first < std::int64_t{extra.first} + extra.tokens;
}

}  // namespace

std::uint64_t KnownPrefixes::extras_of(const PrefixKey& key, std::size_t page) const {
  const auto first = static_cast<std::int64_t>(page) * page_size_;
  std::uint64_t sum = 0;
  for (const PrefixExtra& extra : key) {
    if (!reaches(extra, first, page_size_)) continue;
    const std::uint64_t hash =
        mix(std::hash<std::string>{}(extra.id), static_cast<std::uint64_t>(extra.kind));
    sum += mix(mix(hash, static_cast<std::uint32_t>(extra.first)),
               static_cast<std::uint32_t>(extra.tokens) + 7U);
  }
  return sum;
}

const KnownPrefixes::Page* KnownPrefixes::find(std::uint64_t before, const Tokens& tokens,
                                               std::uint64_t extras) const {
  const auto found = pages_.find(before);
  if (found == pages_.end()) return nullptr;
  for (const Page& page : found->second)
    if (page.extras == extras && page.tokens == tokens) return &page;
  return nullptr;
}

void KnownPrefixes::add(const Tokens& tokens, const PrefixKey& key) {
  const auto size = static_cast<std::size_t>(page_size_);
  std::uint64_t chain = 0;
  for (std::size_t page = 0; (page + 1) * size <= tokens.size(); ++page) {
    const auto first = tokens.begin() + std::int64_t(page * size);
    const Tokens of_page(first, first + page_size_);
    const std::uint64_t extras = extras_of(key, page);
    if (const Page* known = find(chain, of_page, extras)) {
      chain = known->chain;
      continue;
    }
    std::uint64_t next = mix(chain + 1, extras);
    for (const std::int32_t token : of_page) next = mix(next, std::uint32_t(token) + 1U);
    pages_[chain].push_back({of_page, extras, next});
    chain = next;
  }
}

std::int64_t KnownPrefixes::longest(const Tokens& prompt, const PrefixKey& key) const {
  if (prompt.empty()) return 0;
  const auto size = static_cast<std::size_t>(page_size_);
  const std::size_t limit = prompt.size() - 1;
  std::uint64_t chain = 0;
  std::size_t page = 0;
  for (; (page + 1) * size <= limit; ++page) {
    const auto first = prompt.begin() + std::int64_t(page * size);
    const Page* known = find(chain, Tokens(first, first + page_size_), extras_of(key, page));
    if (known == nullptr) break;
    chain = known->chain;
  }
  const auto rest = std::span(prompt).first(limit).subspan(page * size);
  std::int64_t partial = 0;
  if (const auto found = pages_.find(chain); found != pages_.end())
    for (const Page& other : found->second) {
      if (other.extras != extras_of(key, page)) continue;
      const auto common = std::ranges::mismatch(other.tokens, rest).in1 - other.tokens.begin();
      if (common >= min_partial_) partial = std::max<std::int64_t>(partial, common);
    }
  return std::int64_t(page * size) + partial;
}

}  // namespace headwise
