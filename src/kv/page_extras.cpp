#include "kv/page_extras.h"

#include <algorithm>
#include <vector>

#include "core/check.h"

namespace headwise {
namespace {

void append(std::string& bytes, std::int64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// Kind, length, id, and where the extra lies from the page's first token on: no two extras have
/// the same bytes.
std::string bytes_of(const PrefixExtra& extra, std::int64_t first_token) {
  std::string bytes(1, static_cast<char>(extra.kind));
  append(bytes, static_cast<std::int64_t>(extra.id.size()));
  bytes += extra.id;
  if (extra.kind == PrefixExtra::Kind::image) {
    append(bytes, extra.first - first_token);
    append(bytes, extra.tokens);
  }
  return bytes;
}

bool reaches(const PrefixExtra& extra, std::int64_t first_token, std::int32_t page_size) {
  if (extra.kind != PrefixExtra::Kind::image) return first_token == 0;
  return extra.first < first_token + page_size &&
         first_token < std::int64_t{extra.first} + extra.tokens;
}

}  // namespace

void validate(const PrefixKey& key) {
  for (const PrefixExtra& extra : key) {
    check(extra.kind <= PrefixExtra::Kind::image, "kind ", static_cast<int>(extra.kind),
          " of a prefix's extra is unknown");
    check(!extra.id.empty(), "an extra of a prefix has no id");
    if (extra.kind != PrefixExtra::Kind::image) continue;
    check(extra.first >= 0 && extra.tokens >= 1, "image '", extra.id, "' lies at token ",
          extra.first, ", ", extra.tokens, " tokens");
  }
}

std::string extras_of_page(const PrefixKey& key, std::int32_t page, std::int32_t page_size) {
  if (key.empty()) return {};
  const std::int64_t first_token = std::int64_t{page} * page_size;
  std::vector<std::string> parts;
  for (const PrefixExtra& extra : key)
    if (reaches(extra, first_token, page_size)) parts.push_back(bytes_of(extra, first_token));
  std::sort(parts.begin(), parts.end());
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

}  // namespace headwise
