#include "model/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/check.h"

namespace headwise {
namespace {

using Piece = std::function<void(std::string_view)>;

// PCRE2's own \s holds U+180E and leaves U+0085 out or not, depending on how it runs.
std::string with_unicode_spaces(std::string_view pattern) {
  constexpr std::string_view kSpaces = R"(\t-\r\x{85}\p{Z})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[') in_class = true;
    if (pattern[i] == ']') in_class = false;
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += in_class ? std::string(kSpaces) : concat("[", kSpaces, "]");
    } else if (escaped == 'S' && !in_class) {
      out += concat("[^", kSpaces, "]");
    } else {
      out += {'\\', escaped};
    }
  }
  return out;
}

std::string error_text(int code) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

class PreTokenizer::Pattern {
 public:
  explicit Pattern(const std::string& source) {
    const std::string exact = with_unicode_spaces(source);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(exact.data()), exact.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset, nullptr);
    check(code_ != nullptr, "the pre-tokenizer's pattern does not compile: ", error_text(error));
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // faster where it can; the matches are the same
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { pcre2_code_free(code_); }

  void split(std::string_view text, const Piece& piece) const {
    const std::unique_ptr<pcre2_match_data, FreeMatch> match(
        pcre2_match_data_create_from_pattern(code_, nullptr));
    check(match != nullptr, "no memory to cut a text into pieces");
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
    std::size_t done = 0;
    while (done < text.size()) {
      const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                    done, PCRE2_NOTEMPTY, match.get(), nullptr);
      check(found > 0 || found == PCRE2_ERROR_NOMATCH, "a text cannot be cut into pieces at byte ",
            done, ": ", error_text(found));
      const std::size_t start = found > 0 ? bounds[0] : text.size();
      if (start > done) piece(text.substr(done, start - done));
      if (found <= 0) return;
      piece(text.substr(start, bounds[1] - start));
      done = bounds[1];
    }
  }

 private:
  pcre2_code* code_ = nullptr;
};

PreTokenizer::PreTokenizer(std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    patterns_.push_back(std::make_shared<const Pattern>(pattern));
  }
}

void PreTokenizer::split(std::string_view text, const Piece& piece) const {
  Piece next = piece;
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    next = [&pattern = **pattern, after = std::move(next)](std::string_view part) {
      pattern.split(part, after);
    };
  }
  if (!text.empty()) next(text);
}

}  // namespace headwise
