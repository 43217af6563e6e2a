#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/llama_weights.h"
#include "model/gguf.h"
#include "model/tokenizer.h"

namespace headwise {

struct GenerateOptions {
  std::string prompt;  ///< any text, not empty
  bool raw = false;    ///< leave the chat template out; special tokens may be written in the prompt
  std::int64_t max_new = 256;  ///< tokens, at least 1; fewer where the model's context ends
  std::int64_t chunk = 512;    ///< tokens of a prefill step, at least 1
  std::string backend;         ///< forced, as for Registry::choose; "": the best one
  int threads = 0;             ///< CPU threads; 0: all that the process may run on
  bool check = false;          ///< compare sampled rows of attention with `reference`
};

/// What a caller wants to hear of while text is being generated. Any may be left out.
struct GenerateEvents {
  std::function<void(std::string_view)> text;  ///< each new piece, valid UTF-8
  std::function<void(std::int64_t done, std::int64_t total)> prefill;  ///< prompt tokens
  std::function<bool()> stop;  ///< asked between steps whether to end
};

enum class Finish {
  end_token,  ///< the model ended its answer
  max_new,    ///< as many tokens as were asked for
  context,    ///< the model's context is full
  stopped,    ///< GenerateEvents::stop
};

/// "end_token", "max_new", "context", "stopped".
const char* name_of(Finish finish);

struct CheckedRows {
  std::int64_t rows = 0;
  double worst_error = 0.0;  ///< |out - exact| / |exact|
  double bound = 0.0;
  bool passed() const { return worst_error <= bound; }
};

/// A generation's text and numbers. A rate or time that needs more steps than there were is absent.
struct Generation {
  std::vector<TokenId> prompt_tokens;
  std::vector<TokenId> new_tokens;  ///< the end token not among them
  std::string text;
  Finish finish = Finish::max_new;

  std::optional<double> ttft_ms;  ///< from the text of the prompt to the first token
  std::optional<double> tpot_ms;  ///< mean time of each later token
  std::optional<double> prefill_tok_s;
  std::optional<double> decode_tok_s;
  std::optional<double> attention_share_prefill;  ///< of the prefill steps' time, 0 to 1
  std::optional<double> attention_share_decode;   ///< of the decode steps' time
  std::int64_t kv_bytes = 0;                      ///< of the pages held for this text
  std::int64_t peak_bytes = 0;                    ///< of the process, weights included
  std::vector<std::string> backends;              ///< log lines, one a layer group and phase
  std::optional<CheckedRows> check;
};

/// A model in memory, and greedy generation with it.
class Runner {
 public:
  /// Reads a GGUF file. Throws Error naming what is wrong with it.
  explicit Runner(const std::filesystem::path& model);

  const LlamaConfig& config() const { return weights_.config; }

  /// The prompt's tokens. Throws Error where it is empty, or has no chat template and is not raw.
  std::vector<TokenId> encode(const GenerateOptions& options) const;

  /// Runs the prompt in chunks, then one step a token. Throws Error on bad options, with both
  /// numbers where the prompt is longer than the model's context, and as Registry::choose does.
  Generation generate(const GenerateOptions& options, const GenerateEvents& events = {}) const;

 private:
  GgufFile file_;
  Tokenizer tokenizer_;
  LlamaWeights weights_;
};

}  // namespace headwise
