#include "engine/runner.h"
#include "model/vocabulary/read_vocabulary.h"

#include <algorithm>

#include "core/check.h"
#include "core/log.h"
#include "headwise/kv_memory.h"
#include "headwise/machine.h"

namespace headwise {
namespace {

void check_options(const GenerateOptions& options) {
  check(!options.prompt.empty(), "the prompt is empty");
  check(options.max_new >= 1, "max_new must be at least 1, is ", options.max_new);
  check(options.chunk >= 1, "chunk must be at least 1, is ", options.chunk);
  check(options.threads >= 0, "threads must not be negative, is ", options.threads);
}

Tokenizer open_tokenizer(const ModelFile& file) {
  check(file.has_weights(), file.path().string(), " has no weights to run");
  return Tokenizer(file.gguf() != nullptr ? read_vocabulary(*file.gguf())
                                          : read_vocabulary(file.folder()));
}

}  // namespace

Runner::Runner(const std::filesystem::path& model, const ModelOptions& options)
    : file_(model),
      tokenizer_(open_tokenizer(file_)),
      weights_(load_weights(file_, options.maths.value_or(fastest_maths()))) {}

/// Of texts of at most `tokens` tokens.
SessionOptions Runner::session_options(const GenerateOptions& options, std::int64_t tokens) const {
  return {.capacity = static_cast<std::int32_t>(tokens),
          .kv_type = options.kv_type.value_or(q_type_of(weights_.maths)),
          .chunk = options.chunk,
          .backend = options.backend,
          .threads = options.threads,
          .check = options.check,
          .sampling = options.sampling,
          .stop = options.stop};
}

std::vector<TokenId> Runner::encode(const GenerateOptions& options) const {
  check_options(options);
  if (const std::size_t lost = tokenizer_.unencodable_bytes(options.prompt); lost > 0) {
    log(LogLevel::warning, concat(lost,
                                  " bytes of the prompt are in no token of this model's "
                                  "vocabulary and are left out"));
  }
  if (options.raw) return tokenizer_.encode_prompt(options.prompt, SpecialText::parsed);
  const ChatMessage question{.role = "user", .content = options.prompt};
  return ChatTemplate(tokenizer_.chat_template()).encode(tokenizer_, {&question, 1});
}

std::vector<TokenId> Runner::encode(std::span<const ChatMessage> conversation) const {
  return ChatTemplate(tokenizer_.chat_template()).encode(tokenizer_, conversation);
}

Generation Runner::generate(const GenerateOptions& options, const GenerateEvents& events) {
  const Session::Clock::time_point start = Session::Clock::now();
  std::vector<TokenId> tokens = encode(options);
  const auto prompt = static_cast<std::int64_t>(tokens.size());
  const std::int64_t context = weights_.config.context;
  // The last new token needs no slot: no later one looks at it.
  const std::int64_t capacity = std::clamp<std::int64_t>(prompt + options.max_new - 1, 1, context);
  Session session(weights_, tokenizer_, session_options(options, capacity));
  return session.answer(std::move(tokens), options.max_new, events, start);
}

Session Runner::session(const GenerateOptions& options) {
  // A long context's cache may be larger than memory: a quarter of it is the most that is taken.
  const DType q_type = q_type_of(weights_.maths);
  std::int64_t bytes_a_token = 0;
  for (const LayerGroup& group :
       layer_groups(weights_.config, q_type, options.kv_type.value_or(q_type)))
    bytes_a_token += kv_bytes_per_token(group);
  const std::int64_t room = this_machine().cpu.memory_bytes / 4 / bytes_a_token;
  const std::int64_t context = std::clamp<std::int64_t>(room, 1, weights_.config.context);
  if (context < weights_.config.context)
    log(LogLevel::warning, concat("the cache has room for ", context, " tokens of the context's ",
                                  weights_.config.context));
  return {weights_, tokenizer_, session_options(options, context)};
}

}  // namespace headwise
