#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The conversation formats of the model families that are read, each as its template writes it for
// messages without tools. Left out: tools, images, and what a template takes from its caller, such
// as thinking switched off.

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

class ChatWriter;

/// What several templates, which differ in wording, write alike.
struct ChatFormat {
  std::string_view name;
  void (*write)(ChatWriter& out, std::span<const ChatMessage> messages, bool ask);
};

/// FNV-1a, 64 bits, of a template's source, in which a line break may be written as such or as the
/// escape \n, and the last one is not counted.
std::uint64_t fingerprint_of_template(std::string_view source);

/// nullptr if no known template has this fingerprint.
const ChatFormat* find_chat_format(std::uint64_t fingerprint);

/// Throws Error if the roles come in an order that the format has no place for.
std::vector<ChatPiece> render_chat(const ChatFormat& format, std::span<const ChatMessage> messages,
                                   bool ask);

}  // namespace headwise
