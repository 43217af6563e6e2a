#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// Lets a text through, piece by piece, up to where a stop text begins. Holds back what may yet
/// become one.
class StopText {
 public:
  /// "": nothing stops.
  explicit StopText(std::string stop) : stop_(std::move(stop)) {}

  /// What may be said of what is held back and `piece`.
  std::string push(std::string_view piece);
  /// What was held back; the text is over.
  std::string finish();
  bool found() const { return found_; }

 private:
  std::string stop_;
  std::string held_;
  bool found_ = false;
};

}  // namespace headwise
