#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/pre_tokenizer.h"
#include "model/token_merges.h"

namespace headwise {

class GgufFile;
class GgufMetadata;

/// What becomes of the text of a special token, such as "<|im_end|>", inside a text to encode.
enum class SpecialText {
  plain,   ///< ordinary characters: for text from outside, which must not forge markup
  parsed,  ///< the special token
};

/// Byte-level BPE (tokenizer model "gpt2") read from a GGUF file. Copies what it needs: the file
/// may be closed. Const members may be called from several threads.
class Tokenizer {
 public:
  /// Throws Error naming the key if the file has no such tokenizer, has another kind, or one whose
  /// merges, types or special ids do not fit its tokens.
  explicit Tokenizer(const GgufFile& file);

  /// Any bytes, valid UTF-8 or not. No beginning or end token is added. Bytes that no token of the
  /// vocabulary holds are left out; unencodable_bytes counts them.
  std::vector<TokenId> encode(std::string_view text,
                              SpecialText special = SpecialText::plain) const;
  std::size_t unencodable_bytes(std::string_view text) const;

  /// The bytes that the tokens stand for, special tokens as their text; maybe not valid UTF-8.
  /// Throws Error naming the id if it is outside of the vocabulary.
  std::string decode(std::span<const TokenId> tokens) const;

  int vocab_size() const { return static_cast<int>(bytes_of_.size()); }
  /// The bytes of one token; valid as long as the tokenizer. Throws as decode does.
  const std::string& bytes(TokenId token) const;
  bool is_special(TokenId token) const;
  /// The id of a special token by its text. Throws Error naming the text if there is none.
  TokenId special(std::string_view text) const;
  /// True for the tokens after which generation stops: eos and its like.
  bool ends_generation(TokenId token) const;

 private:
  void read_tokens(const std::vector<std::string_view>& spellings,
                   const std::vector<std::int64_t>& types);
  void read_merges(const std::vector<std::string_view>& spellings,
                   const std::vector<std::string_view>& merges);
  void read_end_tokens(const GgufMetadata& metadata);
  void encode_plain(std::string_view text, std::vector<TokenId>& out) const;
  /// The longest special token that `text` begins with, and its length; 0 if there is none.
  std::pair<TokenId, std::size_t> special_at(std::string_view text) const;

  PreTokenizer pre_tokenizer_;
  std::vector<std::string> bytes_of_;                    // by token
  std::vector<bool> special_;                            // by token
  std::unordered_map<std::string, TokenId> special_id_;  // by text
  std::vector<TokenId> byte_token_;                      // by byte, 256; -1 where there is none
  TokenMerges merges_;
  std::vector<TokenId> end_tokens_;
};

}  // namespace headwise
