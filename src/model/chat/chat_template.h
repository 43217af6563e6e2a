#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/chat_format.h"
#include "model/tokenizer/tokenizer.h"

namespace headwise {

/// How a model wants a conversation written. A template is a program; it is followed where it is
/// one of those that are known (chat_format.h), and refused otherwise.
class ChatTemplate {
 public:
  /// From the template's source. Throws Error if it is empty or not known; the text says that --raw
  /// does without.
  explicit ChatTemplate(std::string_view source);

  /// The conversation as pieces, text pieces as long as they can be. With `ask`, the assistant's
  /// turn is opened at the end, where the model has a mark for it. Throws Error if there is no
  /// message, a role is not known, or the roles come in an order that the model was not made for.
  std::vector<ChatPiece> render(std::span<const ChatMessage> messages, bool ask = true) const;

  /// The same as tokens, with the beginning-of-sequence token exactly where the template writes it:
  /// nothing is to be put in front. Special tokens come from the template alone: a message that
  /// spells one is text.
  std::vector<TokenId> encode(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                              bool ask = true) const;

 private:
  const ChatFormat* format_;
};

}  // namespace headwise
