#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace headwise {

/// What a caller wants to hear of while text is being generated. Any may be left out.
struct GenerateEvents {
  std::function<void(std::string_view)> text;  ///< each new piece, valid UTF-8
  std::function<void(std::int64_t done, std::int64_t total)> prefill;  ///< prompt tokens
  std::function<bool()> stop;  ///< asked between steps whether to end
};

enum class Finish {
  end_token,  ///< the model ended its answer
  stop_text,  ///< the text that ends an answer came
  max_new,    ///< as many tokens as were asked for
  context,    ///< the model's context, or the cache, is full
  stopped,    ///< GenerateEvents::stop
};

/// "end_token", "stop_text", "max_new", "context", "stopped".
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

  std::int64_t reused_tokens = 0;  ///< of the prompt, that the cache had from earlier texts
  std::optional<double> ttft_ms;   ///< from the text of the prompt to the first token
  std::optional<double> tpot_ms;   ///< mean time of each later token
  std::optional<double> prefill_tok_s;
  std::optional<double> decode_tok_s;
  std::optional<double> attention_share_prefill;  ///< of the prefill steps' time, 0 to 1
  std::optional<double> attention_share_decode;   ///< of the decode steps' time
  std::int64_t kv_bytes = 0;                      ///< of all pages there are
  std::optional<std::int64_t> kv_saturated;       ///< f8e4m3 K and V: numbers beyond their scales
  std::int64_t peak_bytes = 0;                    ///< of the process, weights included
  std::vector<std::string> backends;              ///< log lines, one a layer group and phase
  std::optional<CheckedRows> check;
};

}  // namespace headwise
