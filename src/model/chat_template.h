#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer.h"

namespace headwise {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// A stretch of a rendered conversation: one special token, or text in which none is parsed.
struct ChatPiece {
  std::string text;
  bool special = false;
};

/// How a model wants a conversation written: the ChatML family, with or without a default system
/// message.
class ChatTemplate {
 public:
  /// Recognises the template of tokenizer.chat_template. Throws Error if the file has none or one
  /// that is not known; the text says that --raw does without.
  explicit ChatTemplate(const GgufFile& file);
  /// As above, from the template's source.
  explicit ChatTemplate(std::string_view source);

  /// The conversation as pieces, text pieces as long as they can be. With `ask`, the assistant's
  /// turn is opened at the end. Throws Error if there is no message or a role is not known.
  std::vector<ChatPiece> render(std::span<const ChatMessage> messages, bool ask = true) const;

  /// The same as tokens. Special tokens come from the template alone: a message that spells one is
  /// text.
  std::vector<TokenId> encode(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                              bool ask = true) const;

 private:
  std::string default_system_;
};

}  // namespace headwise
