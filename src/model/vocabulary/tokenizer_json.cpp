#include "model/vocabulary/tokenizer_json.h"

#include <limits>
#include <optional>
#include <unordered_map>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/json/json_field.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/sentencepiece_spelling.h"
#include "model/vocabulary/vocabulary_checks.h"

namespace headwise {
namespace {

constexpr std::string_view kVocab = "field 'model.vocab'";

// A token as the file spells it; which fields of it hold is known when all of the file is read.
struct SpelledToken {
  const std::string* spelling = nullptr;
  bool in_model = false;  // of model.vocab, where merges find it
  std::optional<TokenType> added;
};

using SpelledTokens = std::vector<SpelledToken>;

SpelledTokens read_vocab(const JsonField& document) {
  const JsonField vocab = document.at("model").at("vocab");
  vocab.check_that(vocab.json().is_object() && !vocab.json().empty(), "holds no tokens");
  const JsonField added = document.at("added_tokens");
  const std::size_t most = vocab.json().size() + added.elements().size();
  check(most <= std::numeric_limits<TokenId>::max(), kVocab, " holds ", most, " tokens");
  SpelledTokens tokens(most);
  for (const auto& [spelling, id] : vocab.json().items()) {
    check(id.is_number_unsigned() && id.get<std::uint64_t>() < most, kVocab, ": the id of ",
          quoted_name(spelling), " is no number below ", most);
    SpelledToken& token = tokens[id.get<std::size_t>()];
    check(token.spelling == nullptr, kVocab, ": the id ", id.get<std::size_t>(), " appears twice");
    check(!spelling.empty(), kVocab, ": token ", id.get<std::size_t>(), " is empty");
    token = {&spelling, true, std::nullopt};
  }
  return tokens;
}

// Sets what `added` says of its token; gives the literal.
LiteralToken read_added(const JsonField& added, SpelledTokens& tokens) {
  for (const std::string_view flag : {"single_word", "lstrip", "rstrip"}) {
    check(!added.boolean(flag, false), added.at("content").label(), ": ", quoted_name(flag),
          " is true, which is not supported");
  }
  const std::uint64_t id = added.at("id").unsigned_integer();
  check(id < tokens.size(), added.at("id").label(), " is ", id, " of ", tokens.size(), " tokens");
  SpelledToken& token = tokens[id];
  const std::string& content = added.at("content").string();
  added.at("content").check_that(!content.empty(), "is empty");
  check(token.spelling == nullptr || *token.spelling == content, added.label(), ": token ", id,
        ", ", quoted_name(content), ", is spelled otherwise in model.vocab or appears twice");
  check(!token.added, added.label(), ": token ", id, " appears twice");
  token.spelling = &added.at("content").string();
  token.added = added.boolean("special", false) ? TokenType::control : TokenType::user_defined;
  return {content, static_cast<TokenId>(id), added.boolean("normalized", true)};
}

std::vector<LiteralToken> read_added_tokens(const JsonField& document, SpelledTokens& tokens) {
  std::vector<LiteralToken> literals;
  TokenTexts texts("field 'added_tokens'");
  for (const JsonField& added : document.at("added_tokens").elements()) {
    literals.push_back(read_added(added, tokens));
    texts.add(literals.back().text, literals.back().id);
  }
  // Tokens of both lists were counted twice: what is left at the end is nothing.
  while (!tokens.empty() && tokens.back().spelling == nullptr) tokens.pop_back();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    check(tokens[i].spelling != nullptr, kVocab, ": no token has the id ", i);
  }
  return literals;
}

VocabularyToken token_of(const SpelledToken& token, std::size_t id, TokenizerKind kind) {
  const std::string& spelling = *token.spelling;
  if (kind == TokenizerKind::ranked) {
    const auto byte = byte_of_spelling(spelling);
    if (byte && token.in_model) return {{*byte}, TokenType::byte};
    const TokenType type = token.added.value_or(TokenType::normal);
    return {type == TokenType::control ? spelling : with_spaces(spelling), type};
  }
  if (token.added) return {spelling, *token.added};
  const auto bytes = bytes_of_spelling(spelling);
  check(bytes.has_value(), kVocab, ": token ", id, ", ", quoted_name(spelling),
        ", is not spelled in the byte alphabet");
  return {*bytes, TokenType::normal};
}

void read_tokens(const SpelledTokens& spelled, Vocabulary& vocabulary) {
  TokenTexts normal(kVocab);
  normal.reserve(spelled.size());
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    vocabulary.tokens.push_back(token_of(spelled[i], i, vocabulary.kind));
    const VocabularyToken& token = vocabulary.tokens.back();
    if (token.type == TokenType::normal) normal.add(token.bytes, static_cast<TokenId>(i));
  }
  if (vocabulary.kind == TokenizerKind::ranked) check_byte_tokens(kVocab, vocabulary.tokens);
}

// Whether a merge would make markup out of plain text: "<" and "s>". The models' own tokenizers
// find such tokens before they merge, so that it never happens there.
bool makes_markup(const TokenMerge& merge, const Vocabulary& vocabulary) {
  for (const TokenId id : {merge.left, merge.right, merge.merged}) {
    if (vocabulary.tokens[static_cast<std::size_t>(id)].type == TokenType::control) return true;
  }
  return false;
}

void read_merges(const JsonField& model, const SpelledTokens& spelled, Vocabulary& vocabulary) {
  TokenTexts ids(kVocab);
  ids.reserve(spelled.size());
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    if (spelled[i].in_model) ids.add(*spelled[i].spelling, static_cast<TokenId>(i));
  }
  const JsonField merges = model.at("merges");
  merges.check_that(merges.json().is_array(), "is no array");
  MergeReader reader("field 'model.merges'", ids, spelled.size());
  for (const auto& merge : merges.json()) {
    if (merge.is_string()) {
      reader.add(merge.get_ref<const std::string&>());
      continue;
    }
    merges.check_that(
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(),
        "holds what is neither \"a b\" nor [\"a\", \"b\"]");
    reader.add(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
  }
  vocabulary.merges = reader.take();
  std::erase_if(vocabulary.merges,
                [&](const TokenMerge& merge) { return makes_markup(merge, vocabulary); });
}

void check_model(const JsonField& model) {
  const std::string type = model.string("type", "BPE");
  check(type == "BPE", "field 'model.type': ", quoted_name(type), " is not supported: BPE is");
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    check(model.string(key, "").empty(), "field 'model.", key, "' is not supported");
  }
  check(!model.has("dropout") || model.at("dropout").json() == 0.0,
        "field 'model.dropout' is not supported");
}

}  // namespace

Vocabulary read_tokenizer_json(std::string_view text) {
  const nlohmann::json json = parse_json(text, kTokenizerLimits);
  const JsonField document(json);
  const JsonField model = document.at("model");
  check_model(model);
  Vocabulary vocabulary;
  vocabulary.kind = is_byte_level(document) ? TokenizerKind::byte_level : TokenizerKind::ranked;
  check(
      vocabulary.kind == TokenizerKind::byte_level || model.boolean("byte_fallback", false),
      "field 'model.byte_fallback' is not true, and 'pre_tokenizer' is not ByteLevel: one of them "
      "must be");
  vocabulary.whole_pieces_first = model.boolean("ignore_merges", false);
  SpelledTokens spelled = read_vocab(document);
  vocabulary.literals = read_added_tokens(document, spelled);
  read_tokens(spelled, vocabulary);
  read_merges(model, spelled, vocabulary);
  read_tokenizer_rules(document, vocabulary);
  return vocabulary;
}

}  // namespace headwise
