// Memory runs out at every place where a KvCache asks for some, and steps end at every boundary: a
// call that throws has changed nothing, and succeeds where there is memory again.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>

#include "headwise/error.h"
#include "tests/kv/failing_allocations.h"
#include "tests/kv/small_cache.h"

namespace headwise {
namespace {

using Mode = FailingAllocations::Mode;
using Kind = PrefixExtra::Kind;

constexpr int kMost = 1000;  // allocations of a call, or a loop has no end

// Longer than what a string holds without memory of its own.
const PrefixKey kKey = {{Kind::adapter, "an adapter of a name that is long"},
                        {Kind::image, "an image of a name that is long", 5, 6}};

KvCacheOptions options_of() {
  KvCacheOptions options = small_options({small_group(24), small_group(24, 3, 2, 2)});
  options.max_requests = 3;
  return options;
}

/// Sequences with and without extras, a fork that shares a page that is begun, and prefixes that
/// nobody uses.
struct Scene {
  Scene() : filled(options_of()) {
    filled.remember(remembered);
    sequence = filled.cache.create(kKey);
    filled.grow(sequence, tokens, kKey);
    fork = filled.cache.fork(sequence);
    plain = filled.cache.create();
    filled.grow(plain, plain_tokens);
    all = {sequence, fork, plain};
  }

  std::string now() const { return seen(filled.cache, all); }

  void expect_content() {
    filled.expect_content(sequence, tokens, kKey);
    filled.expect_content(fork, tokens, kKey);
    filled.expect_content(plain, plain_tokens);
    EXPECT_EQ(filled.reused(joined(remembered, {1})), 8);
  }

  Tokens remembered = counted(0, 8), tokens = counted(100, 11), plain_tokens = counted(200, 6);
  SmallCache filled;
  KvCache& cache = filled.cache;
  SequenceId sequence, fork, plain;
  std::vector<SequenceId> all;
};

using SceneCall = std::function<void(Scene&)>;

/// The call is made with the first allocation failing, then the second one, ... until none does.
/// It may throw std::bad_alloc, or Error where that is what it throws anyhow.
void expect_all_or_nothing(const SceneCall& call, Mode mode) {
  Scene scene;
  const std::string before = scene.now();
  for (int n = 1; n < kMost; ++n) {
    bool ended = false;
    {
      const FailingAllocations failing(n, mode);
      try {
        call(scene);
        ended = true;
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
        ended = FailingAllocations::failed() == 0;
      }
    }
    if (ended) {
      scene.expect_content();
      return;
    }
    ASSERT_EQ(scene.now(), before) << "allocation " << n;
  }
  FAIL() << "no end of allocations";
}

void expect_all_or_nothing(const SceneCall& call) {
  for (const Mode mode : {Mode::once, Mode::from_then_on}) expect_all_or_nothing(call, mode);
}

TEST(CacheFailure, TheTestsOperatorNewFails) {
  std::unique_ptr<Scene> scene;
  int failed = 0;
  {
    const FailingAllocations failing(2, Mode::once);
    try {
      scene = std::make_unique<Scene>();
    } catch (const std::bad_alloc&) {
      failed = FailingAllocations::failed();
    }
  }
  EXPECT_EQ(failed, 1);
}

TEST(CacheFailure, AllocationsOfCalls) {
  const std::vector<SceneCall> calls = {
      [](Scene& s) { s.cache.create(); },
      [](Scene& s) { s.cache.create(kKey); },
      [](Scene& s) { s.cache.create(s.remembered); },
      [](Scene& s) { s.cache.create(s.tokens, kKey); },
      [](Scene& s) {
        s.cache.create(s.tokens, {{Kind::salt, "a salt of a name that is long"}});
      },
      [](Scene& s) { s.cache.fork(s.sequence); },
      [](Scene& s) { s.cache.fork(s.plain); },
      [](Scene& s) { s.cache.truncate(s.sequence, 9); },
      [](Scene& s) { (void)s.cache.pages(s.plain, 1), (void)s.cache.tables(s.plain, 0); },
      [](Scene& s) { (void)s.cache.usage(0), (void)s.cache.counters(); },
      [](Scene& s) { (void)s.cache.layer(1, 1), (void)s.cache.mutable_layer(0, 0); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_or_nothing(calls[i]);
  }
}

TEST(CacheFailure, AllocationsOfErrors) {
  const std::vector<SceneCall> calls = {
      [](Scene& s) { s.cache.free({}); },
      [](Scene& s) { s.cache.fork({}); },
      [](Scene& s) { s.cache.truncate(s.sequence, 1); },
      [](Scene& s) {
        s.cache.create(s.tokens, {{Kind::salt, ""}});
      },
      [](Scene& s) { (void)s.cache.usage(7); },
      [](Scene& s) {
        const std::vector<KvRequest> requests = {{s.sequence, 1}, {s.fork, 1}, {s.plain, 40}};
        s.cache.begin(requests);
      },
      [](Scene& s) {
        const std::vector<KvRequest> requests = {{s.sequence, 1}, {s.fork, 1}, {s.fork, 1}};
        s.cache.begin(requests);
      },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_or_nothing(calls[i]);
  }
}

/// These need no memory at all: engines rely on being able to end things.
TEST(CacheFailure, EndingThingsNeedsNoMemory) {
  Scene scene;
  const std::vector<KvRequest> requests = {{scene.sequence, 2}, {scene.fork, 3}, {scene.plain, 0}};
  {
    const FailingAllocations failing(1, Mode::from_then_on);
    KvStep step = scene.cache.begin(requests);
    step.rollback();
    step = scene.cache.begin(requests);
  }
  scene.expect_content();
  {
    const FailingAllocations failing(1, Mode::from_then_on);
    scene.cache.free(scene.sequence);
    scene.cache.truncate(scene.fork, 0);
    scene.cache.free(scene.fork);
    scene.cache.free(scene.plain);
    scene.cache.clear_prefixes();
  }
  EXPECT_EQ(scene.filled.pages_free(0), 24);
  EXPECT_EQ(scene.filled.pages_free(1), 24);
}

/// What there is no memory for is not known; the next commit makes it known.
void expect_commit_succeeds(int n, Mode mode, int& failed) {
  Scene scene;
  const Tokens grown = joined(scene.tokens, counted(300, 6));
  const Tokens plain = joined(scene.plain_tokens, counted(400, 3));
  const std::vector<KvRequest> requests = {{scene.sequence, 6, grown}, {scene.plain, 3, plain}};
  KvStep step = scene.cache.begin(requests);
  scene.filled.write(scene.sequence, grown, kKey);
  scene.filled.write(scene.plain, plain);
  {
    const FailingAllocations failing(n, mode);
    EXPECT_NO_THROW(step.commit());
    failed = FailingAllocations::failed();
  }
  EXPECT_EQ(scene.cache.length(scene.sequence), 17);
  EXPECT_EQ(scene.cache.length(scene.plain), 9);
  scene.filled.expect_content(scene.sequence, grown, kKey);
  scene.filled.expect_content(scene.fork, scene.tokens, kKey);
  EXPECT_LE(scene.filled.reused(grown, kKey), 16);
  scene.filled.grow(scene.sequence, joined(grown, counted(500, 3)), kKey);
  EXPECT_EQ(scene.filled.reused(joined(grown, counted(500, 4)), kKey), 20);
}

TEST(CacheFailure, ACommitSucceedsWithoutMemory) {
  for (const Mode mode : {Mode::once, Mode::from_then_on}) {
    int failed = 1;
    for (int n = 1; failed > 0 && n < kMost; ++n) {
      SCOPED_TRACE(n);
      expect_commit_succeeds(n, mode, failed);
    }
    EXPECT_EQ(failed, 0);
  }
}

TEST(CacheFailure, AllocationsOfTheConstructor) {
  for (const Mode mode : {Mode::once, Mode::from_then_on}) {
    std::unique_ptr<KvCache> cache;
    KvCacheOptions options = options_of();
    options.groups[0].key_bounds = true;
    options.groups[1].group.shape.kv_type = DType::f8e4m3;
    int n = 0;
    while (!cache && ++n < kMost) {
      const FailingAllocations failing(n, mode);
      try {
        cache = std::make_unique<KvCache>(options);
      } catch (const std::bad_alloc&) {
      }
    }
    EXPECT_GT(n, 10);
    ASSERT_TRUE(cache);
    EXPECT_EQ(cache->usage(0).free, cache->usage(0).reserved);
  }
}

/// Ends of a step that is not committed.
enum class End { rollback, drop, replace };

void end(KvStep step, End how) {
  if (how == End::rollback) step.rollback();
  if (how == End::replace) step = KvStep();
}

/// Into the new slots of a layer of a group: what nobody may see.
void write_garbage(Scene& scene, const std::vector<KvRequest>& requests, int group, int layer) {
  const MutableKvView view = scene.cache.mutable_layer(group, layer);
  for (const KvRequest& request : requests) {
    const auto table = scene.cache.pages(request.sequence, group);
    const std::int32_t length = scene.cache.length(request.sequence);
    for (std::int32_t i = length; i < length + request.new_tokens; ++i) {
      const std::int64_t at = table[std::size_t(i / 4)] * std::int64_t{4} + i % 4;
      static_cast<float*>(view.k.data)[at] = -1.0F;
      static_cast<float*>(view.v.data)[at] = -2.0F;
    }
  }
}

TEST(CacheFailure, AStepEndsAtEveryBoundary) {
  const std::vector<std::pair<int, int>> layers = {{0, 0}, {1, 0}, {1, 1}};  // group and layer
  for (const End how : {End::rollback, End::drop, End::replace})
    for (std::size_t written = 0; written <= layers.size(); ++written) {
      SCOPED_TRACE(written);
      Scene scene;
      const Tokens grown = joined(scene.tokens, counted(300, 6));
      const std::vector<KvRequest> requests = {
          {scene.sequence, 6, grown}, {scene.fork, 2}, {scene.plain, 1}};
      const KvCounters counters = scene.cache.counters();
      const std::string before = seen(scene.cache.usage(0)) + seen(scene.cache.usage(1));
      KvStep step = scene.cache.begin(requests);
      for (std::size_t i = 0; i < written; ++i)
        write_garbage(scene, requests, layers[i].first, layers[i].second);
      end(std::move(step), how);
      EXPECT_EQ(seen(scene.cache.usage(0)) + seen(scene.cache.usage(1)), before);
      EXPECT_EQ(scene.cache.counters().stored_pages, counters.stored_pages);
      scene.expect_content();
      EXPECT_EQ(scene.filled.reused(grown, kKey), 8);
      scene.filled.grow(scene.sequence, grown, kKey);
      EXPECT_EQ(scene.filled.reused(grown, kKey), 16);
      scene.filled.expect_content(scene.sequence, grown, kKey);
    }
}

}  // namespace
}  // namespace headwise
