#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headwise::bench {

/// Cells in columns as wide as their widest, heads first.
class Grid {
 public:
  /// Heads, with whether a column is of numbers: these end at its right edge.
  explicit Grid(std::vector<std::pair<std::string, bool>> heads);

  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells) const;

  std::vector<std::pair<std::string, bool>> heads_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace headwise::bench
