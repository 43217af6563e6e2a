#include "model/chat/chat_format.h"

#include <algorithm>

#include "core/check.h"
#include "model/chat/chat_writer.h"
#include "model/chat/known_templates.h"

namespace headwise {
namespace {

using Messages = std::span<const ChatMessage>;

bool is_user(const ChatMessage& message) { return message.role == "user"; }
bool is_assistant(const ChatMessage& message) { return message.role == "assistant"; }

// The system's message, if the first one is, taken off `messages`.
const std::string* take_system(Messages& messages) {
  if (messages.front().role != "system") return nullptr;
  const std::string* content = &messages.front().content;
  messages = messages.subspan(1);
  return content;
}

void check_alternation(Messages messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    check(is_user(messages[i]) == (i % 2 == 0) && messages[i].role != "system", "message ", i + 1,
          " of the conversation is the ", messages[i].role,
          "'s: this model's have the user's and the assistant's in turn, the user's first");
  }
}

// ChatML: SmolLM2, Qwen2, Qwen2.5, Qwen3.

void write_chatml_turn(ChatWriter& out, std::string_view role, std::string_view content) {
  out.special("<|im_start|>").text(role).text("\n").text(content);
  out.special("<|im_end|>").text("\n");
}

void ask_chatml(ChatWriter& out, bool ask) {
  if (ask) out.special("<|im_start|>").text("assistant\n");
}

void write_chatml_after(ChatWriter& out, std::string_view system, Messages messages, bool ask) {
  if (!system.empty() && messages.front().role != "system") {
    write_chatml_turn(out, "system", system);
  }
  for (const ChatMessage& message : messages) write_chatml_turn(out, message.role, message.content);
  ask_chatml(out, ask);
}

void write_chatml(ChatWriter& out, Messages messages, bool ask) {
  write_chatml_after(out, "", messages, ask);
}

void write_smollm2(ChatWriter& out, Messages messages, bool ask) {
  write_chatml_after(out, "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
                     messages, ask);
}

void write_qwen2(ChatWriter& out, Messages messages, bool ask) {
  write_chatml_after(out, "You are a helpful assistant.", messages, ask);
}

void write_qwen25(ChatWriter& out, Messages messages, bool ask) {
  write_chatml_after(out, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
                     messages, ask);
}

std::string_view without_front_breaks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view without_end_breaks(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

struct Answer {
  std::string_view thought;
  std::string_view content;
};

Answer split_answer(std::string_view text) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  const std::size_t first = text.find(kClose);
  if (first == std::string_view::npos) return {"", text};
  const std::string_view content = text.substr(text.rfind(kClose) + kClose.size());
  std::string_view thought = without_end_breaks(text.substr(0, first));
  if (const std::size_t open = thought.rfind(kOpen); open != std::string_view::npos) {
    thought = thought.substr(open + kOpen.size());
  }
  return {without_front_breaks(thought), without_front_breaks(content)};
}

// The last of the user's messages that is none of a tool's; all that follows it is one answer.
std::size_t last_question(Messages messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const std::string_view content = messages[i].content;
    const bool tool =
        content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
    if (is_user(messages[i]) && !tool) return i;
  }
  return messages.size() - 1;
}

// Thoughts are kept in the answer to the last question alone, which has at least an empty one.
void write_qwen3(ChatWriter& out, Messages messages, bool ask) {
  const std::size_t question = last_question(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!is_assistant(messages[i])) {
      write_chatml_turn(out, messages[i].role, messages[i].content);
      continue;
    }
    const auto [thought, content] = split_answer(messages[i].content);
    const bool last = i + 1 == messages.size();
    if (i > question && (last || !thought.empty())) {
      write_chatml_turn(out, "assistant",
                        concat("<think>\n", without_end_breaks(thought), "\n</think>\n\n",
                               without_front_breaks(content)));
    } else {
      write_chatml_turn(out, "assistant", content);
    }
  }
  ask_chatml(out, ask);
}

// Llama 2: each turn of the user's begins a sequence.
void write_llama2(ChatWriter& out, Messages messages, bool ask) {
  const std::string* system = take_system(messages);
  check_alternation(messages);
  static_cast<void>(ask);  // the end of [/INST] does
  for (const ChatMessage& message : messages) {
    if (is_assistant(message)) {
      out.text(" ").text(trimmed(message.content)).text(" ").special("</s>");
      continue;
    }
    std::string content = message.content;
    if (system != nullptr && &message == &messages.front()) {
      content = concat("<<SYS>>\n", trimmed(*system), "\n<</SYS>>\n\n", content);
    }
    out.special("<s>").text("[INST] ").text(trimmed(content)).text(" [/INST]");
  }
}

// Llama 3.

void write_llama3_header(ChatWriter& out, std::string_view role) {
  out.special("<|start_header_id|>").text(role).special("<|end_header_id|>").text("\n\n");
}

void write_llama3_turns(ChatWriter& out, Messages messages, bool ask) {
  for (const ChatMessage& message : messages) {
    write_llama3_header(out, message.role);
    out.text(trimmed(message.content)).special("<|eot_id|>");
  }
  if (ask) write_llama3_header(out, "assistant");
}

void write_llama3(ChatWriter& out, Messages messages, bool ask) {
  out.special("<|begin_of_text|>");
  write_llama3_turns(out, messages, ask);
}

// 3.1 and later say two dates. Today's is the one that the template has where its caller says
// none: with the real one the same conversation would be another tomorrow, in all caches too.
void write_llama31(ChatWriter& out, Messages messages, bool ask) {
  const std::string* system = take_system(messages);
  out.special("<|begin_of_text|>");
  write_llama3_header(out, "system");
  out.text("Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n");
  if (system != nullptr) out.text(trimmed(*system));
  out.special("<|eot_id|>");
  write_llama3_turns(out, messages, ask);
}

// Mistral. Up to v2 [INST] is text, later a token; v3 says the system's message in the last turn
// of the user's, where that is the last of all.

void write_mistral_text(ChatWriter& out, Messages messages, std::string_view space) {
  const std::string* system = take_system(messages);
  check_alternation(messages);
  out.special("<s>");
  for (const ChatMessage& message : messages) {
    if (is_assistant(message)) {
      out.text(space).text(message.content).special("</s>");
      continue;
    }
    out.text(space).text("[INST] ");
    if (system != nullptr && &message == &messages.front()) out.text(*system).text("\n\n");
    out.text(message.content).text(" [/INST]");
  }
}

void write_mistral_v1(ChatWriter& out, Messages messages, bool) {
  write_mistral_text(out, messages, " ");
}

void write_mistral_v1_old(ChatWriter& out, Messages messages, bool) {
  check_alternation(messages);
  write_mistral_text(out, messages, "");
}

void write_mistral_tokens(ChatWriter& out, Messages messages, std::string_view space, bool trim) {
  const std::string* system = take_system(messages);
  check_alternation(messages);
  out.special("<s>");
  for (const ChatMessage& message : messages) {
    if (is_assistant(message)) {
      const std::string_view content = message.content;
      out.text(space).text(trim ? trimmed(content) : content).special("</s>");
      continue;
    }
    out.special("[INST]").text(space);
    if (system != nullptr && &message == &messages.back()) out.text(*system).text("\n\n");
    out.text(message.content).special("[/INST]");
  }
}

void write_mistral_v3(ChatWriter& out, Messages messages, bool) {
  write_mistral_tokens(out, messages, " ", true);
}

void write_mistral_tekken(ChatWriter& out, Messages messages, bool) {
  write_mistral_tokens(out, messages, "", false);
}

// Gemma.

void write_gemma_turns(ChatWriter& out, std::string_view prefix, Messages messages, bool ask) {
  check_alternation(messages);
  out.special("<bos>");
  for (const ChatMessage& message : messages) {
    out.special("<start_of_turn>").text(is_assistant(message) ? "model\n" : "user\n");
    if (&message == &messages.front()) out.text(prefix);
    out.text(trimmed(message.content)).special("<end_of_turn>").text("\n");
  }
  if (ask) out.special("<start_of_turn>").text("model\n");
}

void write_gemma2(ChatWriter& out, Messages messages, bool ask) {
  write_gemma_turns(out, "", messages, ask);
}

void write_gemma3(ChatWriter& out, Messages messages, bool ask) {
  const std::string* system = take_system(messages);
  write_gemma_turns(out, system == nullptr ? "" : concat(*system, "\n\n"), messages, ask);
}

constexpr ChatFormat kFormats[] = {
    {"chatml", write_chatml},         {"smollm2", write_smollm2},
    {"qwen2", write_qwen2},           {"qwen2.5", write_qwen25},
    {"qwen3", write_qwen3},           {"llama2", write_llama2},
    {"llama3", write_llama3},         {"llama3.1", write_llama31},
    {"mistral-v1", write_mistral_v1}, {"mistral-v1-old", write_mistral_v1_old},
    {"mistral-v3", write_mistral_v3}, {"mistral-tekken", write_mistral_tekken},
    {"gemma2", write_gemma2},         {"gemma3", write_gemma3},
};

}  // namespace

std::uint64_t fingerprint_of_template(std::string_view source) {
  if (source.ends_with('\n')) source.remove_suffix(1);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool escape = source.substr(i).starts_with("\\n");
    const char c = escape ? '\n' : source[i];
    i += escape ? 1 : 0;
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

const ChatFormat* find_chat_format(std::uint64_t fingerprint) {
  const auto* known = std::ranges::find(kKnownTemplates, fingerprint, &KnownTemplate::fingerprint);
  if (known == std::end(kKnownTemplates)) return nullptr;
  return std::ranges::find(kFormats, known->format, &ChatFormat::name);
}

std::vector<ChatPiece> render_chat(const ChatFormat& format, std::span<const ChatMessage> messages,
                                   bool ask) {
  ChatWriter out;
  format.write(out, messages, ask);
  return out.take();
}

}  // namespace headwise
