#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "advisor/engine_log/log_record.h"

namespace headwise {

/// What an engine's log can say of the attention that it runs.
enum class LogTopic : std::uint8_t {
  version,
  model,
  gpu,             ///< the device's name
  gpu_generation,  ///< compute capability without its point: 100
  backend,
  prefill_backend,
  decode_backend,
  flash_attention,  ///< version of FlashAttention: 2, 3, 4
  kv_type,
  kv_token_bytes,  ///< of a token's KV on one GPU, in all layers
  kv_tokens,       ///< that the cache has room for
  kv_gib,          ///< the cache's memory on one GPU
  dtype,           ///< of activations
  page_size,
  tensor_parallel,
  data_parallel,
  context_parallel,  ///< GPUs that a sequence's KV is spread over in decodes
  attention_dp,      ///< "True": requests, not heads, are spread over the GPUs
  head_dim,
  latent,          ///< "True": multi-head latent attention
  kv_scale,        ///< of 8-bit KV, where no calibrated one was found
  passed_over,     ///< a backend that the engine cannot take, in its words
  costly_setting,  ///< one that it could take, but for a setting or a missing package
};
inline constexpr int kLogTopics = static_cast<int>(LogTopic::costly_setting) + 1;

const char* name_of(LogTopic topic);  ///< as JSON has it: "kv_type"

/// How a message is read once its beginning is found to be a row's `before`.
enum class Reading : std::uint8_t {
  value,         ///< the value is followed by `after`, and then by anything
  last,          ///< `after` is the message's end
  within,        ///< the value follows `after`, further on, up to a comma, a point or a bracket
  constant,      ///< `after` is the value
  whole,         ///< the message is the value
  fields,        ///< a print of fields follows `before`: FieldName says which are wanted
  fields_after,  ///< the same behind `after`; what stands between is the value
  print_next,    ///< the print is this message's rest, or the next line
  mark,          ///< there is no value
  draft,         ///< backends from here on are a draft model's, not the served one's
};

/// What a record does to the notion of starts: an engine logs marks of rising rank as it starts. A
/// lower rank than before, or the same by the same process, begins another start.
using StartRank = std::uint8_t;  // 0: no mark

/// Words that an engine prints, whatever the values. docs/engine-logs.md says where each was seen.
struct FixedWords {
  ServingEngine engine;
  std::string_view files;  ///< that log them, each in spaces; "": any, or not said
  Reading reading;
  std::string_view before;
  std::string_view after;
  std::optional<LogTopic> topic = {};
  StartRank rank = 0;
};

struct FieldName {
  ServingEngine engine;
  std::string_view name;
  LogTopic topic;
};

std::span<const FixedWords> fixed_words();
std::span<const FieldName> field_names();

}  // namespace headwise
