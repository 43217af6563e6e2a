#pragma once

#include <string>
#include <vector>

#include "engine/runner.h"

namespace headwise::cli {

/// Messages and answers, in turn, over a session's cache.
class Conversation {
 public:
  /// Both must outlive it. `raw`: no chat template, texts and answers behind one another.
  Conversation(Runner& runner, Session& session, bool raw)
      : runner_(runner), session_(session), raw_(raw) {}

  /// Throws Error as Session::answer does; the message is not part of the conversation then.
  Generation answer(const std::string& message, std::int64_t max_new, const GenerateEvents& events);

  void begin_anew() { messages_.clear(); }

 private:
  std::vector<TokenId> tokens() const;

  Runner& runner_;
  Session& session_;
  bool raw_;
  std::vector<ChatMessage> messages_;
};

}  // namespace headwise::cli
