#include "model/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

// Digits stand alone and end whatever is before them; else GPT-2's rule: contractions, words with
// the space before them, runs of other signs, and white space that leaves its last character to
// the word behind it. U+0085 is white space in Unicode, but not in PCRE2's \s.
constexpr const char* kSmollm =
    "'(?:[stmd]|re|ve|ll)"
    "| ?\\p{L}+"
    "|\\p{N}"
    "| ?[^\\s\\x{85}\\p{L}\\p{N}]+"
    "|[\\s\\x{85}]+(?![^\\s\\x{85}\\p{N}])"
    "|[\\s\\x{85}]+";

std::string error_text(int code) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

struct PreTokenizer::Pattern {
  explicit Pattern(const char* source) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source), PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset, nullptr);
    check(code != nullptr, "the pre-tokenizer's pattern does not compile: ", error_text(error));
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // faster where it can; the matches are the same
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { pcre2_code_free(code); }

  pcre2_code* code = nullptr;
};

PreTokenizer::PreTokenizer(std::string_view name) {
  check(name == "smollm", "pre-tokenizer ", quoted_name(name), " is not supported: smollm is");
  pattern_ = std::make_shared<const Pattern>(kSmollm);
}

void PreTokenizer::split(std::string_view text,
                         const std::function<void(std::string_view)>& piece) const {
  if (text.empty()) return;
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(pattern_->code, nullptr));
  check(match != nullptr, "no memory to cut a text into pieces");
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
  std::size_t done = 0;
  while (done < text.size()) {
    const int found = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), done, 0, match.get(), nullptr);
    check(found > 0 || found == PCRE2_ERROR_NOMATCH, "a text cannot be cut into pieces at byte ",
          done, ": ", error_text(found));
    const std::size_t start = found > 0 ? bounds[0] : text.size();
    if (start > done) piece(text.substr(done, start - done));  // not UTF-8: nothing matches it
    if (found <= 0) return;
    piece(text.substr(start, bounds[1] - start));
    done = bounds[1];
  }
}

}  // namespace headwise
