#include "tests/quality/engine_model.h"

#include <algorithm>

#include "core/thread_scope.h"
#include "engine/kv_scales.h"
#include "engine/layer_groups.h"
#include "engine/model_weights.h"
#include "engine/transformer.h"
#include "model/model_file.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"

namespace headwise::quality {
namespace {

AttentionOptions attention_options(const EngineOptions& options) {
  return {.backend = "",
          .threads = options.threads,
          .max_tokens = std::min(options.chunk, options.capacity),
          .max_context = options.capacity};
}

/// Room for one text in every group; no text is looked up.
KvCacheOptions cache_options(const ModelConfig& config, const EngineOptions& options) {
  KvCacheOptions cache;
  cache.prefix_cache = false;
  cache.max_tokens = options.capacity;
  for (const LayerGroup& group : layer_groups(config, q_type_of(options.maths), options.kv_type)) {
    if (cache.groups.empty())
      cache.page_size = preferred_page_size(group.shape, attention_options(options));
    const std::int64_t pages = (options.capacity + cache.page_size - 1) / cache.page_size;
    cache.groups.push_back({.group = group, .pages = pages + 1});
  }
  return cache;
}

class EngineModel final : public JudgedModel {
 public:
  EngineModel(const std::filesystem::path& path, const EngineOptions& options)
      : threads_(options.threads),
        file_(path),
        tokenizer_(read_vocabulary(*file_.gguf())),
        weights_(load_weights(file_, options.maths)),
        cache_(cache_options(weights_.config, options)),
        attention_(attention_options(options)),
        transformer_(weights_, cache_, attention_),
        sequence_(cache_.create()) {}

  Maths maths() const override { return weights_.maths; }

  void begin() override {
    cache_.free(sequence_);
    sequence_ = cache_.create();
  }

  std::span<const float> last_logits(std::span<const TokenId> tokens) override {
    find_scales(tokens);
    const ThreadScope threads(threads_or_all(threads_));
    const auto step = static_cast<std::size_t>(transformer_.max_tokens());
    for (; tokens.size() > step; tokens = tokens.subspan(step))
      transformer_.forward(tokens.first(step), sequence_);
    return transformer_.forward(tokens, sequence_);
  }

  void each_logits(std::span<const TokenId> tokens,
                   const std::function<void(std::span<const float>)>& row) override {
    find_scales(tokens);
    const ThreadScope threads(threads_or_all(threads_));
    const auto step = static_cast<std::size_t>(transformer_.max_tokens());
    while (!tokens.empty()) {
      const std::span<const TokenId> part = tokens.first(std::min(step, tokens.size()));
      transformer_.forward_each(part, sequence_,
                                [&](std::int64_t, std::span<const float> logits) { row(logits); });
      tokens = tokens.subspan(part.size());
    }
  }

  std::int64_t kv_bytes() const override {
    std::int64_t bytes = 0;
    for (int group = 0; group < cache_.groups(); ++group) bytes += cache_.usage(group).reserved;
    return bytes;
  }

  std::vector<TokenId> encode(std::string_view text) const override {
    return tokenizer_.encode(text);
  }

 private:
  /// Of 8-bit K and V, by the first text, as the engine's sessions do.
  void find_scales(std::span<const TokenId> tokens) {
    const ThreadScope threads(threads_or_all(threads_));
    const DType type = cache_.options().groups.front().group.shape.kv_type;
    if (type == DType::f8e4m3 && !cache_.has_scales(0, 0))
      find_kv_scales(weights_, cache_, attention_, tokens);
  }

  int threads_;
  ModelFile file_;
  Tokenizer tokenizer_;
  ModelWeights weights_;
  KvCache cache_;
  AttentionOptions attention_;
  Transformer transformer_;
  SequenceId sequence_;
};

}  // namespace

std::unique_ptr<JudgedModel> open_engine(const std::filesystem::path& file,
                                         const EngineOptions& options) {
  return std::make_unique<EngineModel>(file, options);
}

}  // namespace headwise::quality
