#include "advisor/engine_log/repr_fields.h"

#include "advisor/engine_log/text_cursor.h"

namespace headwise {
namespace {

/// Bytes of the string that `text` begins with, its quotes included.
std::size_t quoted_size(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote)
      return i + 1;
  }
  return text.size();
}

bool opens(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }

/// Does `text` begin with a space and then a name and '='? So fields follow each other in what
/// pydantic prints.
bool begins_next_field(std::string_view text) {
  TextCursor at(text);
  return at.skip(" ") && !at.take_word().empty() && at.skip("=");
}

std::size_t value_size(std::string_view text) {
  int depth = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      i += quoted_size(text.substr(i));
      continue;
    }
    if (closes(c) && depth-- == 0) break;
    if (opens(c)) ++depth;
    if (depth == 0 && (c == ',' || (c == ' ' && begins_next_field(text.substr(i))))) break;
    ++i;
  }
  return i;
}

std::string_view without_quotes(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '\'' || value.front() == '"') &&
                      value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

std::string_view take_name(TextCursor& at) {
  if (at.peek() != '\'' && at.peek() != '"') return at.take_word();
  const std::size_t size = quoted_size(at.rest());
  const std::string_view quoted = at.rest().substr(0, size);
  at.skip(quoted);
  return without_quotes(quoted);
}

}  // namespace

void for_each_repr_field(
    std::string_view text,
    const std::function<void(std::string_view name, std::string_view value)>& take) {
  TextCursor at(text);
  while (!at.at_end()) {
    at.take([](char c) { return c == ' ' || c == ','; });
    const std::string_view name = take_name(at);
    if (name.empty() || (!at.skip("=") && !at.skip(": "))) return;
    const std::string_view value = at.rest().substr(0, value_size(at.rest()));
    at.skip(value);
    take(name, without_quotes(value));
  }
}

}  // namespace headwise
