#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/transformer.h"
#include "tests/engine/double_model.h"
#include "tests/engine/tiny_models.h"

namespace headwise {

/// A tiny model in a file, as the engine reads it and in double.
struct TinyEngine {
  explicit TinyEngine(const TinyModel& model, Maths maths = Maths::f32)
      : file(gguf_of(model)),
        model_file(file.path()),
        weights(load_weights(model_file, maths)),
        exact(model_file) {}

  /// For a cache of `pages` in each group.
  KvCacheOptions cache_options(int page_size, std::int64_t pages) const {
    KvCacheOptions options;
    const DType type = q_type_of(weights.maths);
    for (const LayerGroup& group : layer_groups(weights.config, type, type))
      options.groups.push_back({.group = group, .pages = pages});
    options.page_size = page_size;
    options.max_tokens = weights.config.context;
    return options;
  }

  /// For steps of at most `max_tokens`.
  AttentionOptions attention_options(std::int32_t max_tokens, std::string backend = "") const {
    return {.backend = std::move(backend),
            .max_tokens = max_tokens,
            .max_context = weights.config.context};
  }

  TemporaryFile file;
  ModelFile model_file;
  ModelWeights weights;
  DoubleModel exact;
};

/// Different ones, none special.
inline std::vector<TokenId> some_tokens(int count, int first = 13) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 97 + first) % 256 + 3);
  return tokens;
}

}  // namespace headwise
