#include "model/chat/chat_template.h"

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

bool is_role(const std::string& role) {
  return role == "system" || role == "user" || role == "assistant";
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source)
    : format_(find_chat_format(fingerprint_of_template(source))) {
  check(!source.empty(), "the model has no chat template; --raw sends the prompt as it is");
  check(format_ != nullptr, "the chat template ", quoted_name(source),
        " is not known; --raw sends the prompt as it is");
}

std::vector<ChatPiece> ChatTemplate::render(std::span<const ChatMessage> messages, bool ask) const {
  check(!messages.empty(), "a conversation needs a message");
  for (const ChatMessage& message : messages) {
    check(is_role(message.role), "the role ", quoted_name(message.role),
          " is not system, user or assistant");
  }
  return render_chat(*format_, messages, ask);
}

std::vector<TokenId> ChatTemplate::encode(const Tokenizer& tokenizer,
                                          std::span<const ChatMessage> messages, bool ask) const {
  std::vector<TokenId> tokens;
  for (const ChatPiece& piece : render(messages, ask)) {
    if (piece.special) {
      tokens.push_back(tokenizer.special(piece.text));
      continue;
    }
    const auto text = tokenizer.encode(piece.text, SpecialText::plain, tokens.empty());
    tokens.insert(tokens.end(), text.begin(), text.end());
  }
  return tokens;
}

}  // namespace headwise
