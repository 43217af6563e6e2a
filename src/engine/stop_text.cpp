#include "engine/stop_text.h"

#include <algorithm>
#include <utility>

namespace headwise {

std::string StopText::push(std::string_view piece) {
  if (found_) return {};
  held_ += piece;
  if (stop_.empty()) return std::exchange(held_, {});
  if (const std::size_t at = held_.find(stop_); at != std::string::npos) {
    found_ = true;
    held_.resize(at);
    return std::exchange(held_, {});
  }
  // The longest end that the stop text begins with.
  std::size_t kept = std::min(held_.size(), stop_.size() - 1);
  while (kept > 0 && !held_.ends_with(std::string_view(stop_).substr(0, kept))) --kept;
  std::string said = held_.substr(0, held_.size() - kept);
  held_.erase(0, said.size());
  return said;
}

std::string StopText::finish() { return std::exchange(held_, {}); }

}  // namespace headwise
