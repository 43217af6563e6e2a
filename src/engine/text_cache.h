#pragma once

#include <vector>

#include "engine/step_attention.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// Of one text at a time, and the one before it while it is looked up; what is left of earlier ones
/// is given up for it. A page is there to copy one that the text is cut in, another for what begins
/// or ends within a page.
KvCacheOptions text_cache_options(const std::vector<LayerGroup>& groups,
                                  const AttentionOptions& attention);

/// Touches (core/touched_memory.h) those pages of a new cache, on the CPU, that the first `tokens`
/// tokens of its first text will lie in.
void touch_first_pages(KvCache& cache, std::int64_t tokens);

}  // namespace headwise
