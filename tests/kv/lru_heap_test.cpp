#include "kv/lru_heap.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/conformance/random.h"

namespace headwise {
namespace {

TEST(LruHeap, AlwaysKnowsTheOldest) {
  conformance::Rng random(3);
  for (const int items : {1, 2, 3, 7, 64}) {
    LruHeap heap(items);
    std::map<std::int32_t, std::uint64_t> model;  // item -> its last use; times are all different
    std::uint64_t time = 0;
    for (int step = 0; step < 3000; ++step) {
      const auto item = static_cast<std::int32_t>(random.below(items));
      if (random.chance(3) && model.contains(item)) {
        heap.erase(item);
        model.erase(item);
      } else {
        // Uses need not come in order: a parent takes over its child's.
        ++time;
        const std::uint64_t use = 2 * time - (random.chance(4) && time > 500 ? 999 : 0);
        heap.use(item, use);
        model[item] = use;
      }
      ASSERT_EQ(heap.size(), std::ssize(model));
      ASSERT_EQ(heap.empty(), model.empty());
      for (std::int32_t i = 0; i < items; ++i) ASSERT_EQ(heap.contains(i), model.contains(i));
      if (model.empty()) continue;
      for (const auto& [other, use] : model) ASSERT_LE(model[heap.oldest()], use) << other;
    }
  }
}

}  // namespace
}  // namespace headwise
