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

}  // namespace headwise
