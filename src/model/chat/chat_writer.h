#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/chat_format.h"

namespace headwise {

/// Collects the pieces of a conversation; text that follows text joins it.
class ChatWriter {
 public:
  ChatWriter& special(std::string_view token) {
    pieces_.push_back({std::string(token), true});
    return *this;
  }
  ChatWriter& text(std::string_view text) {
    if (text.empty()) return *this;
    if (pieces_.empty() || pieces_.back().special) pieces_.emplace_back();
    pieces_.back().text += text;
    return *this;
  }
  std::vector<ChatPiece> take() { return std::move(pieces_); }

 private:
  std::vector<ChatPiece> pieces_;
};

/// Without the white space at both ends, as Python's str.strip() has it.
std::string_view trimmed(std::string_view text);

}  // namespace headwise
