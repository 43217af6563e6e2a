#include "model/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf.h"

namespace headwise {
namespace {

constexpr const char* kStart = "<|im_start|>";
constexpr const char* kEnd = "<|im_end|>";

struct KnownTemplate {
  std::string_view source;
  std::string_view default_system;  // said where the first message is none of the system's
};

// A template is a program; only these, whose meaning is known, are followed.
constexpr std::array<KnownTemplate, 1> kKnownTemplates{{
    // SmolLM2-Instruct
    {"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
     "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
     "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
     "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
     "{{ '<|im_start|>assistant\n' }}{% endif %}",
     "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
}};

std::string_view source_of(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  check(file.metadata().has(kKey), file.path().string(),
        ": the file has no chat template; --raw sends the prompt as it is");
  return file.metadata().string(kKey);
}

class PieceList {
 public:
  void add_special(const char* text) { pieces_.push_back({text, true}); }
  void add_text(const std::string& text) {
    if (pieces_.empty() || pieces_.back().special) pieces_.push_back({});
    pieces_.back().text += text;
  }
  void add_message(const std::string& role, const std::string& content) {
    add_special(kStart);
    add_text(role + "\n" + content);
    add_special(kEnd);
    add_text("\n");
  }
  std::vector<ChatPiece> take() { return std::move(pieces_); }

 private:
  std::vector<ChatPiece> pieces_;
};

bool is_role(const std::string& role) {
  return role == "system" || role == "user" || role == "assistant";
}

}  // namespace

ChatTemplate::ChatTemplate(const GgufFile& file) : ChatTemplate(source_of(file)) {}

ChatTemplate::ChatTemplate(std::string_view source) {
  const auto* known = std::ranges::find(kKnownTemplates, source, &KnownTemplate::source);
  check(known != kKnownTemplates.end(), "the chat template ", quoted_name(source),
        " is not known; --raw sends the prompt as it is");
  default_system_ = known->default_system;
}

std::vector<ChatPiece> ChatTemplate::render(std::span<const ChatMessage> messages, bool ask) const {
  check(!messages.empty(), "a conversation needs a message");
  PieceList pieces;
  if (messages.front().role != "system") pieces.add_message("system", default_system_);
  for (const ChatMessage& message : messages) {
    check(is_role(message.role), "the role ", quoted_name(message.role),
          " is not system, user or assistant");
    pieces.add_message(message.role, message.content);
  }
  if (ask) {
    pieces.add_special(kStart);
    pieces.add_text("assistant\n");
  }
  return pieces.take();
}

std::vector<TokenId> ChatTemplate::encode(const Tokenizer& tokenizer,
                                          std::span<const ChatMessage> messages, bool ask) const {
  std::vector<TokenId> tokens;
  for (const ChatPiece& piece : render(messages, ask)) {
    if (piece.special) {
      tokens.push_back(tokenizer.special(piece.text));
      continue;
    }
    const std::vector<TokenId> text = tokenizer.encode(piece.text);
    tokens.insert(tokens.end(), text.begin(), text.end());
  }
  return tokens;
}

}  // namespace headwise
