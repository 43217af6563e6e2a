#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/tokenizer/nfc.h"
#include "model/tokenizer/sentencepiece_spelling.h"
#include "model/tokenizer/utf8.h"

namespace headwise {
namespace {

// What marks a text up, which only those who are asked to may write.
bool is_markup(TokenType type) { return type == TokenType::control || type == TokenType::unknown; }

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      pre_tokenizer_(vocabulary_.patterns),
      merges_(vocabulary_.merges),
      byte_token_(256, kNoToken),
      begins_anew_(vocabulary_.tokens.size(), false) {
  const bool scored = vocabulary_.kind == TokenizerKind::scored;
  const TokenType of_bytes =
      vocabulary_.kind == TokenizerKind::byte_level ? TokenType::normal : TokenType::byte;
  if (scored) scored_ = ScoredMerges(vocabulary_.tokens);
  for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
    const auto& [bytes, type, score] = vocabulary_.tokens[i];
    const auto id = static_cast<TokenId>(i);
    if (type == of_bytes && bytes.size() == 1) {
      byte_token_[static_cast<unsigned char>(bytes.front())] = id;
    }
    if (type == TokenType::normal && !scored) by_bytes_.emplace(bytes, id);
  }
  add_literals();
}

void Tokenizer::add_literals() {
  for (const LiteralToken& literal : vocabulary_.literals) {
    const auto token = static_cast<std::size_t>(literal.id);
    const bool markup = is_markup(vocabulary_.tokens[token].type);
    begins_anew_[token] = !literal.after_normalisation;
    for (const SpecialText special : {SpecialText::plain, SpecialText::parsed}) {
      if (markup && special == SpecialText::plain) continue;
      Literals& literals = literals_.at(static_cast<std::size_t>(special));
      (literal.after_normalisation ? literals.normalised : literals.raw)
          .add(literal.text, literal.id);
    }
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialText special,
                                       bool first) const {
  std::vector<TokenId> tokens;
  const Literals& literals = literals_.at(static_cast<std::size_t>(special));
  literals.raw.split(
      text, [&](TokenId token) { tokens.push_back(token); },
      [&](std::string_view stretch) {
        encode_stretch(stretch, first && stretch.data() == text.data(), literals, tokens);
      });
  return tokens;
}

void Tokenizer::encode_stretch(std::string_view text, bool first, const Literals& literals,
                               std::vector<TokenId>& out) const {
  const std::string normalised = normalise(text, first);
  literals.normalised.split(
      normalised, [&](TokenId token) { out.push_back(token); },
      [&](std::string_view stretch) {
        pre_tokenizer_.split(stretch, [&](std::string_view piece) { encode_piece(piece, out); });
      });
}

std::string Tokenizer::normalise(std::string_view text, bool first) const {
  if (vocabulary_.kind == TokenizerKind::byte_level) {
    return vocabulary_.nfc ? to_nfc(text) : std::string(text);
  }
  std::string spaced = with_spaces(text);
  const PrefixSpace& prefix = vocabulary_.prefix_space;
  const bool wanted = prefix.added && (first || !prefix.first_only) &&
                      !(prefix.unless_there && spaced.starts_with(' '));
  return wanted ? " " + spaced : spaced;
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<TokenId>& out) const {
  if (vocabulary_.kind == TokenizerKind::scored) {
    scored_.apply(piece, [&](TokenId token, std::string_view stretch) {
      token == kNoToken ? append_bytes(stretch, out) : out.push_back(token);
    });
    return;
  }
  if (vocabulary_.whole_pieces_first) {
    const auto whole = by_bytes_.find(piece);
    if (whole != by_bytes_.end()) return out.push_back(whole->second);
  }
  std::vector<TokenId> parts;
  vocabulary_.kind == TokenizerKind::byte_level ? append_bytes(piece, parts)
                                                : append_characters(piece, parts);
  merges_.apply(parts, out);
}

void Tokenizer::append_bytes(std::string_view text, std::vector<TokenId>& out) const {
  for (const char c : text) {
    const TokenId token = byte_token_[static_cast<unsigned char>(c)];
    if (token != kNoToken) out.push_back(token);
  }
}

void Tokenizer::append_characters(std::string_view text, std::vector<TokenId>& out) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, next_utf8(text.substr(at)).bytes);
    const auto found = by_bytes_.find(character);
    found == by_bytes_.end() ? append_bytes(character, out) : out.push_back(found->second);
    at += character.size();
  }
}

std::vector<TokenId> Tokenizer::beginning() const {
  return vocabulary_.add_bos ? std::vector{vocabulary_.bos} : std::vector<TokenId>{};
}

std::vector<TokenId> Tokenizer::encode_prompt(std::string_view text, SpecialText special) const {
  std::vector<TokenId> tokens = encode(text, special);
  const std::vector<TokenId> begin = beginning();
  const bool there = !begin.empty() && !tokens.empty() && tokens.front() == begin.front();
  if (!there) tokens.insert(tokens.begin(), begin.begin(), begin.end());
  return tokens;
}

std::size_t Tokenizer::unencodable_bytes(std::string_view text) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [&](char c) { return byte_token_[static_cast<unsigned char>(c)] == kNoToken; }));
}

const std::string& Tokenizer::bytes(TokenId token) const {
  check(token >= 0 && token < vocab_size(), "token ", token, " is outside of the vocabulary of ",
        vocab_size());
  return vocabulary_.tokens[static_cast<std::size_t>(token)].bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  const PrefixSpace& prefix = vocabulary_.prefix_space;
  std::string text;
  bool prefixed = prefix.added;
  for (const TokenId token : tokens) {
    std::string_view part = bytes(token);
    const bool anew = begins_anew_[static_cast<std::size_t>(token)];
    if (prefixed && !anew && part.starts_with(' ')) part.remove_prefix(1);
    prefixed = anew && prefix.added && !prefix.first_only;
    text += part;
  }
  return text;
}

bool Tokenizer::is_special(TokenId token) const {
  return token >= 0 && token < vocab_size() &&
         is_markup(vocabulary_.tokens[static_cast<std::size_t>(token)].type);
}

TokenId Tokenizer::special(std::string_view text) const {
  const Literals& literals = literals_.at(static_cast<std::size_t>(SpecialText::parsed));
  const TokenId raw = literals.raw.find(text);
  const TokenId found = raw == kNoToken ? literals.normalised.find(text) : raw;
  check(found != kNoToken, "special token ", quoted_name(text), " is not in the vocabulary");
  return found;
}

bool Tokenizer::ends_generation(TokenId token) const {
  return std::ranges::find(vocabulary_.end_tokens, token) != vocabulary_.end_tokens.end();
}

}  // namespace headwise
