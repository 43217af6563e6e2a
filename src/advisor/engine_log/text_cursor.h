#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace headwise {

/// Reads a text from its beginning on. What does not match is left where it is.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// `pattern` has # for a digit; all else stands for itself.
  bool skip_like(std::string_view pattern) {
    if (rest_.size() < pattern.size()) return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
      if (pattern[i] == '#' ? !is_digit(rest_[i]) : rest_[i] != pattern[i]) return false;
    rest_.remove_prefix(pattern.size());
    return true;
  }

  /// The longest beginning whose characters `accepts`, up to `most` of them.
  template <class Accepts>
  std::string_view take(const Accepts& accepts, std::size_t most = std::string_view::npos) {
    const std::string_view limited = rest_.substr(0, most);
    const auto end = std::find_if_not(limited.begin(), limited.end(), accepts);
    const std::string_view taken =
        limited.substr(0, static_cast<std::size_t>(end - limited.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view take_spaces() {
    return take([](char c) { return c == ' ' || c == '\t'; });
  }
  std::string_view take_digits() { return take(is_digit); }
  std::string_view take_word() {
    return take([](char c) { return is_alnum(c) || c == '_'; });
  }

  /// What stands before `stop`, which is skipped; nothing, if it is not within `most` characters.
  bool take_until(std::string_view stop, std::size_t most, std::string_view& taken) {
    const std::size_t at = rest_.substr(0, most).find(stop);
    if (at == std::string_view::npos) return false;
    taken = rest_.substr(0, at);
    rest_.remove_prefix(at + stop.size());
    return true;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

 private:
  std::string_view rest_;
};

}  // namespace headwise
