// What each format writes, against what the templates themselves write (scripts/chat_templates).

#include "model/chat/chat_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/chat/known_templates.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

nlohmann::json golden() {
  std::ifstream file(HEADWISE_TEST_DATA "/chat/formats.json");
  return nlohmann::json::parse(file);
}

std::string text_of(const std::vector<ChatPiece>& pieces) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

std::vector<ChatMessage> messages_of(const nlohmann::json& conversation) {
  std::vector<ChatMessage> messages;
  for (const auto& message : conversation) messages.push_back({message[0], message[1]});
  return messages;
}

bool has_late_system(const std::vector<ChatMessage>& messages) {
  return std::any_of(messages.begin() + 1, messages.end(),
                     [](const ChatMessage& message) { return message.role == "system"; });
}

void compare(const ChatFormat& format, const std::vector<ChatMessage>& messages, bool ask,
             const nlohmann::json& wanted) {
  std::string text;
  const std::string error = error_of([&] { text = text_of(render_chat(format, messages, ask)); });
  // The template raises an exception; or it drops a late system message, or makes up a role for it,
  // where ours refuses.
  const bool late = has_late_system(messages) && error.find("is the system's") != error.npos;
  if (wanted.is_null() || late) {
    EXPECT_NE(error, "");
  } else {
    EXPECT_EQ(error, "");
    EXPECT_EQ(text, wanted.get<std::string>());
  }
}

TEST(ChatFormat, WritesWhatItsTemplatesWrite) {
  const nlohmann::json document = golden();
  std::size_t compared = 0;
  for (const auto& [name, known] : document["formats"].items()) {
    for (const auto& [fingerprint, origin] : known["fingerprints"].items()) {
      const ChatFormat* format = find_chat_format(std::stoull(fingerprint, nullptr, 16));
      ASSERT_NE(format, nullptr) << name << ", " << origin;
      EXPECT_EQ(format->name, name);
    }
    const ChatFormat& format =
        *find_chat_format(std::stoull(known["fingerprints"].items().begin().key(), nullptr, 16));
    for (std::size_t i = 0; i < document["conversations"].size(); ++i) {
      const auto messages = messages_of(document["conversations"][i]);
      for (const bool ask : {false, true}) {
        SCOPED_TRACE(name + " " + document["conversations"][i].dump());
        compare(format, messages, ask, known["cases"][i][ask ? 1 : 0]);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 14U * 19U * 2U);
}

TEST(ChatFormat, EveryKnownTemplateWasCompared) {
  const nlohmann::json document = golden();
  std::size_t compared = 0;
  for (const auto& known : document["formats"]) compared += known["fingerprints"].size();
  EXPECT_EQ(compared, std::size(kKnownTemplates));
}

TEST(ChatFormat, FingerprintsAreFnv1aOfTheSource) {
  EXPECT_EQ(fingerprint_of_template(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fingerprint_of_template("a"), 0xaf63dc4c8601ec8cU);       // of the algorithm's authors
  EXPECT_EQ(fingerprint_of_template("foobar"), 0x85944171f73967e8U);  // the same
  EXPECT_EQ(fingerprint_of_template("a\\nb"), fingerprint_of_template("a\nb"));
  EXPECT_EQ(fingerprint_of_template("a\n"), fingerprint_of_template("a"));
  EXPECT_EQ(find_chat_format(0), nullptr);
}

}  // namespace
}  // namespace headwise
