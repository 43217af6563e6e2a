#include "cli/conversation.h"

namespace headwise::cli {

std::vector<TokenId> Conversation::tokens() const {
  if (!raw_) return runner_.encode(messages_);
  GenerateOptions whole{.raw = true};
  for (const ChatMessage& message : messages_) whole.prompt += message.content;
  return runner_.encode(whole);
}

Generation Conversation::answer(const std::string& message, std::int64_t max_new,
                                const GenerateEvents& events) {
  const Session::Clock::time_point start = Session::Clock::now();
  messages_.push_back({.role = "user", .content = message});
  try {
    Generation generation = session_.answer(tokens(), max_new, events, start);
    if (generation.text.empty())
      messages_.pop_back();  // stopped before a word was said
    else
      messages_.push_back({.role = "assistant", .content = generation.text});
    return generation;
  } catch (...) {
    messages_.pop_back();
    throw;
  }
}

}  // namespace headwise::cli
