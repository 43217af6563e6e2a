#include "engine/kv_scales.h"

#include <algorithm>
#include <vector>

#include "core/log.h"
#include "engine/layer_groups.h"
#include "engine/transformer.h"
#include "headwise/kv_calibration.h"

namespace headwise {
namespace {

/// `cache`'s groups in q's type, with room for so many tokens.
KvCacheOptions plain_options(const ModelWeights& weights, const KvCache& cache,
                             std::int32_t tokens) {
  KvCacheOptions options;
  options.prefix_cache = false;
  options.page_size = cache.options().page_size;
  options.max_tokens = tokens;
  const DType type = q_type_of(weights.maths);
  for (const LayerGroup& group : layer_groups(weights.config, type, type))
    options.groups.push_back(
        {.group = group, .pages = (tokens + options.page_size - 1) / options.page_size + 1});
  return options;
}

}  // namespace

void find_kv_scales(ModelWeights& weights, KvCache& cache, const AttentionOptions& attention,
                    std::span<const TokenId> tokens) {
  const auto count =
      static_cast<std::int32_t>(std::min<std::int64_t>(std::ssize(tokens), attention.max_tokens));
  AttentionOptions all_at_once = attention;
  all_at_once.max_tokens = all_at_once.max_context = count;
  KvCache plain(plain_options(weights, cache, count));
  Transformer transformer(weights, plain, all_at_once);
  std::vector<KvCalibration> calibrations;
  for (const KvGroupOptions& group : cache.options().groups) calibrations.emplace_back(group.group);
  transformer.observe(calibrations);
  transformer.forward(tokens.first(static_cast<std::size_t>(count)), plain.create());
  for (int group = 0; group < cache.groups(); ++group)
    calibrations[static_cast<std::size_t>(group)].apply(cache, group);
  log(LogLevel::info, concat("KV in f8e4m3: scales by the first ", count, " tokens"));
}

}  // namespace headwise
