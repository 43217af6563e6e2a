#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/tokenizer/token_id.h"

namespace headwise::quality {

/// What the reference says behind a prompt, greedily.
struct Continuation {
  std::vector<TokenId> prompt;
  std::vector<TokenId> greedy;
  std::vector<std::array<double, 2>> top_logits;  ///< by step: of the token, of its runner-up

  double lead(std::size_t step) const { return top_logits[step][0] - top_logits[step][1]; }
};

/// The likeliest tokens behind one position, and what all others have together.
struct TopTokens {
  std::vector<TokenId> ids;
  std::vector<double> probabilities;  ///< of ids; with `rest` they sum to 1
  double rest = 0.0;
};

/// Independent windows of the text, and how well the reference predicts them.
struct Windows {
  std::int64_t length = 0;               ///< tokens of a window, with `bos`
  std::vector<double> nll;               ///< by window: sum over all tokens but its first, nats
  std::vector<std::string> text_hashes;  ///< by window: fnv1a() of its tokens without `bos`
};

/// The reference's findings about one model (tests/data/quality).
struct Golden {
  std::string name;        ///< "smollm2"
  std::string model_file;  ///< its name, to be found in model_folder()
  std::vector<TokenId> bos;
  std::vector<Continuation> continuations;  ///< by rising length
  std::size_t distributions_of = 0;         ///< the continuation whose prompt has them
  std::vector<TopTokens> distributions;     ///< behind each token of that prompt
  std::vector<Windows> perplexities;        ///< those that have been computed

  /// Throws Error naming the file that is missing or does not fit.
  static Golden read(const std::filesystem::path& folder, const std::string& name);

  /// Throws Error where there are none of this length.
  const Windows& windows(std::int64_t length) const;
};

/// 64 bits over the tokens as little-endian i32, in hexadecimal.
std::string fnv1a(std::span<const TokenId> tokens);

}  // namespace headwise::quality
