#include "engine/text_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "core/check.h"

namespace headwise {
namespace {

/// How many whole small pages of the first `count` of a tensor's entries are in memory, and how
/// many there are.
std::pair<std::int64_t, std::int64_t> in_memory(const TensorView& part, std::int64_t count) {
  constexpr std::uintptr_t kPage = 4096;
  const auto start = reinterpret_cast<std::uintptr_t>(part.data);
  const auto bytes = static_cast<std::uintptr_t>(count * part.strides[0] * size_of(part.dtype));
  const std::uintptr_t first = (start + kPage - 1) / kPage, end = (start + bytes) / kPage;
  std::vector<unsigned char> resident(end - first);
  check(
      mincore(reinterpret_cast<void*>(first * kPage), (end - first) * kPage, resident.data()) == 0,
      "mincore failed");
  std::int64_t found = 0;
  for (const unsigned char page : resident) found += page & 1;
  return {found, static_cast<std::int64_t>(end - first)};
}

TEST(TextCache, HasTheFirstPagesOfEveryLayerInMemory) {
  const AttentionOptions attention{.backend = {}, .max_tokens = 100, .max_context = 65536};
  AttentionShape shape;
  shape.q_heads = 8;
  shape.kv_heads = 4;
  shape.head_dim_qk = shape.head_dim_v = 128;
  shape.q_type = shape.kv_type = DType::f32;
  shape.window_right = 0;
  const KvCacheOptions options = text_cache_options({{.shape = shape, .layers = 2}}, attention);
  KvCache cache(options);
  const std::int64_t pages = (100 + options.page_size - 1) / options.page_size;
  touch_first_pages(cache, 100);
  for (int layer = 0; layer < 2; ++layer) {
    const KvView kv = cache.layer(0, layer);
    for (const TensorView& part : {kv.k, kv.v}) {
      const auto [found, all] = in_memory(part, pages);
      EXPECT_EQ(found, all) << layer;
      const auto [of_pool, in_pool] = in_memory(part, part.sizes[0]);
      EXPECT_LT(of_pool, in_pool / 2) << "what no text has come to is not in memory";
    }
  }
  // Those that the first text takes.
  const SequenceId text = cache.create();
  const KvRequest request{.sequence = text, .new_tokens = 100};
  KvStep step = cache.begin({&request, 1});
  for (const std::int32_t page : cache.pages(text, 0)) EXPECT_LT(page, pages);
  step.commit();
}

TEST(TextCache, TouchesNoMoreThanThereIs) {
  const AttentionOptions attention{.backend = {}, .max_tokens = 16, .max_context = 16};
  AttentionShape shape;
  shape.q_heads = shape.kv_heads = 1;
  shape.head_dim_qk = shape.head_dim_v = 64;
  shape.window_right = 0;
  KvCache cache(text_cache_options({{.shape = shape, .layers = 1}}, attention));
  touch_first_pages(cache, 1 << 20);
}

}  // namespace
}  // namespace headwise
