#include "bench/grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace headwise::bench {

Grid::Grid(std::vector<std::pair<std::string, bool>> heads) : heads_(std::move(heads)) {
  for (const auto& [head, right] : heads_) widths_.push_back(head.size());
}

void Grid::add(std::vector<std::string> cells) {
  for (std::size_t c = 0; c < cells.size(); ++c) widths_[c] = std::max(widths_[c], cells[c].size());
  lines_.push_back(std::move(cells));
}

std::string Grid::text() const {
  std::vector<std::string> heads;
  for (const auto& [head, right] : heads_) heads.push_back(head);
  std::string text = line(heads);
  for (const std::vector<std::string>& cells : lines_) text += line(cells);
  return text;
}

std::string Grid::line(const std::vector<std::string>& cells) const {
  std::string text;
  for (std::size_t c = 0; c < cells.size(); ++c)
    text += heads_[c].second ? fmt::format("{:>{}}  ", cells[c], widths_[c])
                             : fmt::format("{:<{}}  ", cells[c], widths_[c]);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace headwise::bench
