#include "core/check.h"
#include "model/byte_reader.h"
#include "model/json/json_field.h"
#include "model/tokenizer/nfc.h"
#include "model/tokenizer/sentencepiece_spelling.h"
#include "model/tokenizer/split_patterns.h"
#include "model/vocabulary/tokenizer_json.h"

namespace headwise {
namespace {

[[noreturn]] void refuse(const JsonField& field, std::string_view what) {
  throw Error(ErrorCode::invalid_input,
              concat(field.label(), ": ", quoted_name(what), " is not supported"));
}

// The steps of `key`: none, one, or those of a Sequence.
std::vector<JsonField> steps_of(const JsonField& document, std::string_view key,
                                std::string_view list) {
  if (!document.has(key)) return {};
  const JsonField field = document.at(key);
  if (field.at("type").string() == "Sequence") return field.at(list).elements();
  return {field};
}

std::vector<JsonField> pre_tokenizers(const JsonField& document) {
  return steps_of(document, "pre_tokenizer", "pretokenizers");
}

// What the steps for a vocabulary with byte fallback add up to.
struct SpaceRules {
  bool replaced = false;  // " " by U+2581
};

void read_normalizer(const JsonField& step, Vocabulary& vocabulary, SpaceRules& spaces) {
  const std::string& type = step.at("type").string();
  const bool byte_level = vocabulary.kind == TokenizerKind::byte_level;
  if (byte_level && type == "NFC") {
    vocabulary.nfc = true;
  } else if (!byte_level && type == "Prepend") {
    if (step.at("prepend").string() != kSpaceSign) refuse(step, step.at("prepend").string());
    vocabulary.prefix_space.added = true;
  } else if (!byte_level && type == "Replace") {
    const JsonField pattern = step.at("pattern");
    const bool space = pattern.string("String", "") == " ";
    if (!space || step.at("content").string() != kSpaceSign) refuse(step, type);
    spaces.replaced = true;
  } else {
    refuse(step, type);
  }
}

void read_split(const JsonField& step, Vocabulary& vocabulary, const SpaceRules& spaces) {
  const JsonField pattern = step.at("pattern");
  // Gemma's: it cuts at spaces, of which the normalizer has left none.
  if (vocabulary.kind != TokenizerKind::byte_level && spaces.replaced &&
      pattern.string("String", "") == " ") {
    return;
  }
  const std::string regex = pattern.at("Regex").string();
  if (!is_known_pattern(regex)) refuse(pattern.at("Regex"), regex);
  const std::string& behavior = step.at("behavior").string();
  if (behavior != "Isolated") refuse(step.at("behavior"), behavior);
  step.check_that(!step.boolean("invert", false), "inverts its pattern, which is not supported");
  vocabulary.patterns.push_back(regex);
}

void read_byte_level(const JsonField& step, Vocabulary& vocabulary) {
  step.check_that(!step.boolean("add_prefix_space", true),
                  "adds a prefix space, which is not supported");
  if (step.boolean("use_regex", true)) vocabulary.patterns.emplace_back(kGpt2Pattern);
}

void read_metaspace(const JsonField& step, Vocabulary& vocabulary, SpaceRules& spaces) {
  if (step.at("replacement").string() != kSpaceSign) {
    refuse(step, step.at("replacement").string());
  }
  step.check_that(!step.boolean("split", true), "splits at spaces, which is not supported");
  const bool old_flag = step.boolean("add_prefix_space", true);
  const std::string scheme = step.string("prepend_scheme", old_flag ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") refuse(step, scheme);
  step.check_that(!vocabulary.prefix_space.added || scheme == "never",
                  "adds a prefix space, and so does the normalizer, which is not supported");
  if (scheme != "never") vocabulary.prefix_space = {true, scheme == "first", true};
  spaces.replaced = true;
}

void read_pre_tokenizer(const JsonField& step, Vocabulary& vocabulary, SpaceRules& spaces) {
  const std::string& type = step.at("type").string();
  const bool byte_level = vocabulary.kind == TokenizerKind::byte_level;
  if (type == "Split") {
    read_split(step, vocabulary, spaces);
  } else if (byte_level && type == "Digits") {
    const bool alone = step.boolean("individual_digits", false);
    vocabulary.patterns.emplace_back(alone ? kDigitPattern : kDigitsPattern);
  } else if (byte_level && type == "ByteLevel") {
    read_byte_level(step, vocabulary);
  } else if (!byte_level && type == "Metaspace") {
    read_metaspace(step, vocabulary, spaces);
  } else {
    refuse(step, type);
  }
}

// [BOS] text, or text alone: nothing behind it.
void read_template(const JsonField& step, Vocabulary& vocabulary) {
  bool text_seen = false;
  for (const JsonField& part : step.at("single").elements()) {
    if (part.has("Sequence")) {
      text_seen = true;
      continue;
    }
    const std::string& name = part.at("SpecialToken").at("id").string();
    part.check_that(!text_seen && !vocabulary.add_bos,
                    "adds more than one token in front, which is not supported");
    const auto ids = step.at("special_tokens").at(name).at("ids").elements();
    step.check_that(ids.size() == 1, "adds a token that is not one");
    const std::uint64_t id = ids.front().unsigned_integer();
    check(id < vocabulary.tokens.size(), ids.front().label(), " is ", id, " of ",
          vocabulary.tokens.size(), " tokens");
    vocabulary.bos = static_cast<TokenId>(id);
    vocabulary.add_bos = true;
  }
  step.check_that(text_seen, "leaves the text out");
}

void read_post_processor(const JsonField& step, Vocabulary& vocabulary) {
  const std::string& type = step.at("type").string();
  if (type == "TemplateProcessing") {
    read_template(step, vocabulary);
  } else if (type != "ByteLevel") {  // which only moves offsets
    refuse(step, type);
  }
}

// Literals that are looked for in normalised text are written as it is.
void normalise_literals(Vocabulary& vocabulary) {
  for (LiteralToken& literal : vocabulary.literals) {
    if (!literal.after_normalisation) continue;
    if (vocabulary.kind == TokenizerKind::byte_level) {
      literal.text = vocabulary.nfc ? to_nfc(literal.text) : literal.text;
      continue;
    }
    check(!vocabulary.prefix_space.unless_there,
          "field 'added_tokens': ", quoted_name(literal.text),
          " is normalized, which is not supported with Metaspace");
    literal.text = concat(vocabulary.prefix_space.added ? " " : "", with_spaces(literal.text));
  }
}

}  // namespace

bool is_byte_level(const JsonField& document) {
  const auto steps = pre_tokenizers(document);
  return !steps.empty() && steps.back().at("type").string() == "ByteLevel";
}

void read_tokenizer_rules(const JsonField& document, Vocabulary& vocabulary) {
  SpaceRules spaces;
  for (const JsonField& step : steps_of(document, "normalizer", "normalizers")) {
    read_normalizer(step, vocabulary, spaces);
  }
  for (const JsonField& step : pre_tokenizers(document)) {
    read_pre_tokenizer(step, vocabulary, spaces);
  }
  check(vocabulary.kind == TokenizerKind::byte_level || spaces.replaced,
        "field 'normalizer' does not replace spaces, and neither does 'pre_tokenizer'");
  for (const JsonField& step : steps_of(document, "post_processor", "processors")) {
    read_post_processor(step, vocabulary);
  }
  normalise_literals(vocabulary);
}

}  // namespace headwise
