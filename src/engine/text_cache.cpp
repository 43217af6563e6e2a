#include "engine/text_cache.h"

#include <algorithm>

#include "core/touched_memory.h"

namespace headwise {
namespace {

// Tokens behind a window that are kept, so that a text may be cut by as many and go on: what asks
// another question of the same document cuts the last question and its answer.
constexpr std::int32_t kWindowSlack = 1024;

/// Tokens of a text, at most, that a group holds at a time.
std::int64_t most_kept(const AttentionShape& shape, const AttentionOptions& attention) {
  if (shape.window_left < 0) return attention.max_context;
  return std::min<std::int64_t>(attention.max_context,
                                shape.window_left + attention.max_tokens + kWindowSlack);
}

}  // namespace

KvCacheOptions text_cache_options(const std::vector<LayerGroup>& groups,
                                  const AttentionOptions& attention) {
  KvCacheOptions options;
  options.page_size = preferred_page_size(groups.front().shape, attention);
  options.max_sequences = 2;
  options.max_tokens = attention.max_context;
  for (const LayerGroup& group : groups) {
    const std::int64_t tokens = most_kept(group.shape, attention);
    options.groups.push_back({.group = group,
                              .pages = (tokens + options.page_size - 1) / options.page_size + 2,
                              .window_slack = group.shape.window_left < 0 ? 0 : kWindowSlack});
  }
  return options;
}

void touch_first_pages(KvCache& cache, std::int64_t tokens) {
  const std::int64_t pages = (tokens + cache.options().page_size - 1) / cache.options().page_size;
  std::vector<std::span<std::byte>> areas;
  for (int group = 0; group < cache.groups(); ++group) {
    const int layers = cache.options().groups[static_cast<std::size_t>(group)].group.layers;
    for (int layer = 0; layer < layers; ++layer) {
      const MutableKvView kv = cache.mutable_layer(group, layer);
      for (const MutableTensorView& part : {kv.k, kv.v, kv.k_scale, kv.v_scale}) {
        if (!part) continue;
        // A new cache hands its pages out from the first on.
        const std::int64_t elements = std::min(pages, part.sizes[0]) * part.strides[0];
        areas.emplace_back(static_cast<std::byte*>(part.data),
                           static_cast<std::size_t>(elements * size_of(part.dtype)));
      }
    }
  }
  touch_for_writing(areas);
}

}  // namespace headwise
