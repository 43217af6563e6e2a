#include <algorithm>
#include <functional>
#include <string_view>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/json/json_field.h"
#include "model/mapped_file.h"
#include "model/vocabulary/read_vocabulary.h"
#include "model/vocabulary/tokenizer_json.h"
#include "model/vocabulary/vocabulary_checks.h"

namespace headwise {
namespace {

namespace fs = std::filesystem;

// Calls `read` with what is in the file; errors name it.
void with_file(const fs::path& path, const std::function<void(std::string_view)>& read) {
  const MappedFile file(path);
  try {
    read({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  } catch (const Error& error) {
    throw Error(error.code(), concat(path.string(), ": ", error.what()));
  }
}

// As above with the file's document, if the file is there.
void with_json(const fs::path& path, const std::function<void(const JsonField&)>& read) {
  if (!fs::exists(path)) return;
  with_file(path, [&](std::string_view text) {
    const nlohmann::json json = parse_json(text, kTokenizerLimits);
    read(JsonField(json));
  });
}

// A token that a config names: "</s>" or {"content": "</s>", ...}.
TokenId named_token(const JsonField& config, std::string_view key, const Vocabulary& vocabulary) {
  const JsonField field = config.at(key);
  const std::string& text = field.has("content") ? field.at("content").string() : field.string();
  const auto found = std::ranges::find(vocabulary.literals, text, &LiteralToken::text);
  check(found != vocabulary.literals.end(), field.label(), " is ", quoted_name(text),
        ", which is none of the added tokens");
  return found->id;
}

void read_special_tokens(const JsonField& config, Vocabulary& vocabulary) {
  if (config.has("bos_token") && vocabulary.bos == kNoToken) {
    vocabulary.bos = named_token(config, "bos_token", vocabulary);
  }
  if (config.has("eos_token") && vocabulary.end_tokens.empty()) {
    vocabulary.end_tokens.push_back(named_token(config, "eos_token", vocabulary));
  }
}

// A template, or several by name, of which "default" is for conversations without tools.
void read_chat_template(const JsonField& field, Vocabulary& vocabulary) {
  if (field.json().is_string()) {
    vocabulary.chat_template = field.string();
    return;
  }
  for (const JsonField& named : field.elements()) {
    if (named.at("name").string() == "default") {
      vocabulary.chat_template = named.at("template").string();
    }
  }
}

void read_tokenizer_config(const JsonField& config, Vocabulary& vocabulary) {
  read_special_tokens(config, vocabulary);
  vocabulary.add_bos = config.boolean("add_bos_token", vocabulary.add_bos);
  check(!vocabulary.add_bos || vocabulary.bos != kNoToken,
        "field 'add_bos_token' is true, but 'bos_token' is missing");
  check(!config.boolean("add_eos_token", false),
        "field 'add_eos_token' is true, which is not supported");
  if (config.has("chat_template")) read_chat_template(config.at("chat_template"), vocabulary);
}

void read_generation_config(const JsonField& config, Vocabulary& vocabulary) {
  if (!config.has("eos_token_id")) return;
  const JsonField field = config.at("eos_token_id");
  for (const JsonField& end : field.json().is_array() ? field.elements() : std::vector{field}) {
    const std::uint64_t id = end.unsigned_integer();
    check(id < vocabulary.tokens.size(), end.label(), " is ", id, " of ", vocabulary.tokens.size(),
          " tokens");
    vocabulary.end_tokens.push_back(static_cast<TokenId>(id));
  }
}

}  // namespace

Vocabulary read_vocabulary(const fs::path& folder) {
  Vocabulary vocabulary;
  with_file(folder / "tokenizer.json",
            [&](std::string_view text) { vocabulary = read_tokenizer_json(text); });
  with_json(folder / "tokenizer_config.json",
            [&](const JsonField& config) { read_tokenizer_config(config, vocabulary); });
  with_json(folder / "special_tokens_map.json",
            [&](const JsonField& map) { read_special_tokens(map, vocabulary); });
  with_json(folder / "generation_config.json",
            [&](const JsonField& config) { read_generation_config(config, vocabulary); });
  if (const fs::path jinja = folder / "chat_template.jinja"; fs::exists(jinja)) {
    with_file(jinja, [&](std::string_view text) { vocabulary.chat_template = text; });
  }
  add_known_end_tokens(vocabulary);
  check(!vocabulary.end_tokens.empty(), (folder / "tokenizer_config.json").string(),
        ": field 'eos_token' is missing, and no other file names a token that ends a text");
  return vocabulary;
}

}  // namespace headwise
