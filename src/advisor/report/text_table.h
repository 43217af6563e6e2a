#pragma once

#include <string>
#include <vector>

namespace headwise {

inline constexpr std::size_t kTextColumns = 100;

/// Rows of equal lengths, the first of which is the head: the first column to the left, the others
/// to the right, as wide as their longest cell and two blanks.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// `text` in lines of at most kTextColumns, each indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent);

std::string fixed(double value, int digits);

/// Three digits that count: "1.23", "12.3", "123".
std::string three_digits(double value);

}  // namespace headwise
