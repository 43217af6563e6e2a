#include "model/tokenizer.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "model/byte_alphabet.h"
#include "model/byte_reader.h"
#include "model/gguf.h"

namespace headwise {
namespace {

constexpr TokenId kNoToken = -1;
constexpr std::int64_t kNormalToken = 1;
constexpr std::int64_t kControlToken = 3;

std::string_view pre_tokenizer_name(const GgufFile& file) {
  const std::string_view model = file.metadata().string("tokenizer.ggml.model");
  check(model == "gpt2", "tokenizer model ", quoted_name(model), " is not supported: gpt2 is");
  return file.metadata().string("tokenizer.ggml.pre");
}

}  // namespace

Tokenizer::Tokenizer(const GgufFile& file) try : pre_tokenizer_(pre_tokenizer_name(file)) {
  const GgufMetadata& metadata = file.metadata();
  const auto spellings = metadata.strings("tokenizer.ggml.tokens");
  read_tokens(spellings, metadata.integers("tokenizer.ggml.token_type"));
  read_merges(spellings, metadata.strings("tokenizer.ggml.merges"));
  read_end_tokens(metadata);
} catch (const Error& error) {
  throw Error(error.code(), concat(file.path().string(), ": ", error.what()));
}

void Tokenizer::read_tokens(const std::vector<std::string_view>& spellings,
                            const std::vector<std::int64_t>& types) {
  constexpr std::string_view kKey = "key 'tokenizer.ggml.tokens'";
  check(!spellings.empty() && spellings.size() <= std::numeric_limits<TokenId>::max(), kKey,
        " holds ", spellings.size(), " tokens");
  check(types.size() == spellings.size(), "key 'tokenizer.ggml.token_type' holds ", types.size(),
        " types for ", spellings.size(), " tokens");
  byte_token_.assign(256, kNoToken);
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    check(!spellings[i].empty(), kKey, ": token ", i, " is empty");
    check(types[i] == kNormalToken || types[i] == kControlToken, kKey, ": token ", i,
          " has the type ", types[i], ", which is not supported");
    special_.push_back(types[i] == kControlToken);
    if (special_.back()) {
      bytes_of_.emplace_back(spellings[i]);
      check(special_id_.emplace(spellings[i], id).second, kKey, ": token ", i, ", ",
            quoted_name(spellings[i]), ", appears twice");
      continue;
    }
    const auto bytes = bytes_of_spelling(spellings[i]);
    check(bytes.has_value(), kKey, ": token ", i, ", ", quoted_name(spellings[i]),
          ", is not spelled in the byte alphabet");
    bytes_of_.push_back(*bytes);
    if (bytes->size() == 1) byte_token_[static_cast<unsigned char>(bytes->front())] = id;
  }
}

void Tokenizer::read_merges(const std::vector<std::string_view>& spellings,
                            const std::vector<std::string_view>& merges) {
  std::unordered_map<std::string_view, TokenId> ids;
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    if (special_[i]) continue;
    check(ids.emplace(spellings[i], static_cast<TokenId>(i)).second,
          "key 'tokenizer.ggml.tokens': token ", i, ", ", quoted_name(spellings[i]),
          ", appears twice");
  }
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto id = [&](std::string_view part) {
      const auto found = ids.find(part);
      check(found != ids.end(), "key 'tokenizer.ggml.merges': merge ", i, ", ",
            quoted_name(merges[i]), ", needs the token ", quoted_name(part), ", which is missing");
      return found->second;
    };
    const std::size_t space = merges[i].find(' ');
    check(space != std::string_view::npos, "key 'tokenizer.ggml.merges': merge ", i, ", ",
          quoted_name(merges[i]), ", is not two tokens");
    const std::string_view left = merges[i].substr(0, space);
    const std::string_view right = merges[i].substr(space + 1);
    const std::string both = concat(left, right);
    check(merges_.add(id(left), id(right), id(both)), "key 'tokenizer.ggml.merges': merge ", i,
          ", ", quoted_name(merges[i]), ", appears twice");
  }
}

void Tokenizer::read_end_tokens(const GgufMetadata& metadata) {
  const auto add = [&](std::string_view key) {
    const std::uint64_t id = metadata.unsigned_integer(key);
    check(id < bytes_of_.size(), "key ", quoted_name(key), " is ", id, " of ", bytes_of_.size(),
          " tokens");
    end_tokens_.push_back(static_cast<TokenId>(id));
  };
  add("tokenizer.ggml.eos_token_id");
  if (metadata.has("tokenizer.ggml.eot_token_id")) add("tokenizer.ggml.eot_token_id");
  // The end of a document, where the file's eos is the end of a turn.
  const auto found = special_id_.find("<|endoftext|>");
  if (found != special_id_.end()) end_tokens_.push_back(found->second);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialText special) const {
  std::vector<TokenId> tokens;
  if (special == SpecialText::plain) {
    encode_plain(text, tokens);
    return tokens;
  }
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [id, length] = special_at(text.substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    encode_plain(text.substr(done, at - done), tokens);
    tokens.push_back(id);
    at += length;
    done = at;
  }
  encode_plain(text.substr(done), tokens);
  return tokens;
}

std::pair<TokenId, std::size_t> Tokenizer::special_at(std::string_view text) const {
  std::pair<TokenId, std::size_t> longest{kNoToken, 0};
  for (const auto& [spelling, id] : special_id_) {
    if (spelling.size() > longest.second && text.starts_with(spelling)) {
      longest = {id, spelling.size()};
    }
  }
  return longest;
}

std::size_t Tokenizer::unencodable_bytes(std::string_view text) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [&](char c) { return byte_token_[static_cast<unsigned char>(c)] == kNoToken; }));
}

void Tokenizer::encode_plain(std::string_view text, std::vector<TokenId>& out) const {
  pre_tokenizer_.split(text, [&](std::string_view piece) {
    std::vector<TokenId> bytes;
    for (const char c : piece) {
      const TokenId token = byte_token_[static_cast<unsigned char>(c)];
      if (token != kNoToken) bytes.push_back(token);
    }
    merges_.apply(bytes, out);
  });
}

const std::string& Tokenizer::bytes(TokenId token) const {
  check(token >= 0 && token < vocab_size(), "token ", token, " is outside of the vocabulary of ",
        vocab_size());
  return bytes_of_[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) text += bytes(token);
  return text;
}

bool Tokenizer::is_special(TokenId token) const {
  return token >= 0 && token < vocab_size() && special_[static_cast<std::size_t>(token)];
}

TokenId Tokenizer::special(std::string_view text) const {
  const auto found = special_id_.find(std::string(text));
  check(found != special_id_.end(), "special token ", quoted_name(text),
        " is not in the vocabulary");
  return found->second;
}

bool Tokenizer::ends_generation(TokenId token) const {
  return std::ranges::find(end_tokens_, token) != end_tokens_.end();
}

}  // namespace headwise
