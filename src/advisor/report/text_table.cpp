#include "advisor/report/text_table.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace headwise {

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line = row.front() + std::string(widths.front() - row.front().size(), ' ');
    for (std::size_t i = 1; i < row.size(); ++i)
      line += std::string(2 + widths[i] - row[i].size(), ' ') + row[i];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::istringstream words(text);
  std::string lines, line = margin, word;
  while (words >> word) {
    const bool is_first = line.size() == indent;
    if (!is_first && line.size() + 1 + word.size() > kTextColumns) {
      lines += line + "\n";
      line = margin + word;
    } else {
      line += (is_first ? "" : " ") + word;
    }
  }
  return line.size() == indent ? lines : lines + line + "\n";
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string three_digits(double value) {
  return fixed(value, value < 10.0 ? 2 : value < 100.0 ? 1 : 0);
}

}  // namespace headwise
