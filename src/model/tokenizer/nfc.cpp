#include "model/tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "model/tokenizer/utf8.h"

namespace headwise {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

void append_decomposed(std::string_view character, CodePoints& out) {
  utf8proc_int32_t code = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()),
                   static_cast<utf8proc_ssize_t>(character.size()), &code);
  utf8proc_int32_t parts[4];  // the longest canonical decomposition
  const auto count = utf8proc_decompose_char(code, parts, 4, UTF8PROC_DECOMPOSE, nullptr);
  check(count >= 0 && count <= 4, "the character ", code, " has no normal form");
  out.insert(out.end(), parts, parts + count);
}

// Canonical order. utf8proc would do it as well, in square time.
void order_marks(CodePoints& text) {
  const auto combining = [](utf8proc_int32_t code) {
    return utf8proc_get_property(code)->combining_class;
  };
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), [&](auto c) { return combining(c) != 0; });
    at = std::find_if(begin, text.end(), [&](auto c) { return combining(c) == 0; });
    std::stable_sort(begin, at, [&](auto a, auto b) { return combining(a) < combining(b); });
  }
}

void append_composed(CodePoints& text, std::string& out) {
  order_marks(text);
  const auto count =
      utf8proc_normalize_utf32(text.data(), static_cast<utf8proc_ssize_t>(text.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto size = utf8proc_encode_char(text[static_cast<std::size_t>(i)], bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  text.clear();
}

}  // namespace

std::string to_nfc(std::string_view text) {
  const bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  std::string out;
  CodePoints stretch;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    const std::string_view part = text.substr(at, step.bytes);
    at += step.bytes;
    if (step.kind == Utf8Kind::character) {
      append_decomposed(part, stretch);
      continue;
    }
    append_composed(stretch, out);
    out += part;
  }
  append_composed(stretch, out);
  return out;
}

}  // namespace headwise
