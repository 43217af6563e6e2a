// A device's memory fails at its n-th allocation, copy or upload: through the constructor, steps
// and scales.

#include <gtest/gtest.h>

#include <memory>

#include "headwise/error.h"
#include "tests/kv/small_cache.h"

namespace headwise {
namespace {

/// The CPU's memory, which throws at one call of a kind.
class FailingMemory final : public DeviceMemory {
 public:
  enum class Call { allocate, copy_rows, upload };

  void fail_at(Call call, int n) { call_ = call, left_ = n; }
  void fail_no_more() { left_ = 0; }
  bool has_failed() const { return left_ == 0; }

  Device device() const override { return cpu_memory().device(); }
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) const override {
    count(Call::allocate);
    return cpu_memory().allocate(bytes);
  }
  void copy_rows(std::byte* to, const std::byte* from, std::int64_t width, std::int64_t pitch,
                 std::int64_t rows, void* stream) const override {
    count(Call::copy_rows);
    cpu_memory().copy_rows(to, from, width, pitch, rows, stream);
  }
  void upload(std::byte* to, const void* from, std::int64_t bytes, void* stream) const override {
    count(Call::upload);
    cpu_memory().upload(to, from, bytes, stream);
  }
  void download(void* to, const std::byte* from, std::int64_t bytes, void* stream) const override {
    cpu_memory().download(to, from, bytes, stream);
  }

 private:
  void count(Call call) const {
    if (call == call_ && left_ > 0 && --left_ == 0)
      throw Error(ErrorCode::not_possible, "the device fails");
  }

  Call call_ = Call::allocate;
  mutable int left_ = 0;  // calls until the one that fails; 0: none does
};

using Call = FailingMemory::Call;

TEST(CacheDeviceFailure, TheConstructor) {
  FailingMemory memory;
  KvCacheOptions options = small_options({small_group(4), small_group(4, 3, 0, 2)});
  options.groups[1].group.shape.kv_type = DType::f8e4m3;
  options.memory = &memory;
  for (const Call call : {Call::allocate, Call::upload}) {
    int failures = 0;
    for (std::unique_ptr<KvCache> cache; !cache; ++failures) {
      memory.fail_at(call, failures + 1);
      try {
        cache = std::make_unique<KvCache>(options);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::not_possible);
      }
    }
    EXPECT_GT(failures, 1);
  }
}

/// Two sequences and a fork of the first, whose rows a step had before, so that a part of the
/// tables is on the device.
struct Scene {
  explicit Scene(std::int64_t pages) : filled(options_of(memory, pages)) {
    filled.remember(counted(0, 8));
    for (const SequenceId id : {a, b}) filled.grow(id, tokens);
    std::vector<KvRequest> requests = {{a, 0}, {b, 0}};
    filled.cache.begin(requests).commit();
    fork = filled.cache.fork(a);
    filled.cache.truncate(b, 9);
  }

  static KvCacheOptions options_of(const FailingMemory& memory, std::int64_t pages) {
    KvCacheOptions options = small_options({small_group(pages), small_group(pages, 3, 4, 2)});
    options.memory = &memory;
    return options;
  }

  /// All of them grow; b's tokens are told.
  std::vector<KvRequest> requests() const { return {{a, 3}, {b, 4, b_grown}, {fork, 2}}; }

  void expect_content() {
    filled.expect_content(a, tokens);
    filled.expect_content(fork, tokens);
    filled.expect_content(b, tokens);
  }

  FailingMemory memory;
  Tokens tokens = counted(100, 10), b_grown = joined(counted(100, 9), counted(300, 4));
  SmallCache filled;
  SequenceId a = filled.cache.create(), b = filled.cache.create(), fork;
};

/// What sequences hold.
std::string held(const Scene& scene) {
  std::string text;
  for (const SequenceId id : {scene.a, scene.b, scene.fork})
    for (int group = 0; group < 2; ++group)
      for (const std::int32_t page : scene.filled.cache.pages(id, group))
        text += std::to_string(page) + " ";
  for (int group = 0; group < 2; ++group)
    text += std::to_string(scene.filled.pages_used(group)) + " used, " +
            std::to_string(scene.filled.pages_shared(group)) + " shared ";
  return text;
}

void expect_tables(const Scene& scene, const KvStep& step) {
  const auto requests = scene.requests();
  for (int group = 0; group < 2; ++group) {
    const BlockTables tables = step.tables(group);
    for (std::size_t r = 0; r < requests.size(); ++r) {
      const auto pages = scene.filled.cache.pages(requests[r].sequence, group);
      const std::int32_t* row = tables.pages + std::int64_t(r) * tables.request_stride;
      EXPECT_EQ(Tokens(row, row + pages.size()), Tokens(pages.begin(), pages.end()));
    }
  }
}

/// Tries a step with the first, second, ... call failing until none does, and commits that one.
int failures_until_success(Scene& scene, Call call) {
  KvCache& cache = scene.filled.cache;
  const auto requests = scene.requests();
  const std::string before = held(scene);
  for (int n = 1;; ++n) {
    scene.memory.fail_at(call, n);
    try {
      KvStep step = cache.begin(requests);
      scene.memory.fail_no_more();
      expect_tables(scene, step);
      scene.expect_content();
      scene.filled.write(scene.b, scene.b_grown);
      step.commit();
      return n - 1;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the device fails");
      EXPECT_EQ(held(scene), before);
      scene.expect_content();
    }
  }
}

TEST(CacheDeviceFailure, StepsThatCopyAndUpload) {
  // K and V of two groups' pages for `a` and its fork; tables of three requests and two groups.
  for (const auto& [call, wanted] : {std::pair(Call::copy_rows, 8), std::pair(Call::upload, 6)}) {
    Scene scene(32);
    EXPECT_EQ(failures_until_success(scene, call), wanted);
    scene.filled.expect_content(scene.b, scene.b_grown);
    EXPECT_EQ(scene.filled.cache.counters().evictions, 0);
    EXPECT_EQ(scene.filled.reused(joined(scene.b_grown, {1})), 12);
    EXPECT_EQ(scene.filled.reused(counted(0, 9)), 8);
  }
}

TEST(CacheDeviceFailure, AFailedStepChangesNothing) {
  for (const Call call : {Call::copy_rows, Call::upload})
    for (const int n : {1, 3, 6}) {
      Scene scene(32);
      const std::vector<SequenceId> all = {scene.a, scene.b, scene.fork};
      const std::string before = seen(scene.filled.cache, all);
      scene.memory.fail_at(call, n);
      EXPECT_THROW(scene.filled.cache.begin(scene.requests()), Error);
      EXPECT_EQ(seen(scene.filled.cache, all), before) << "call " << n;
    }
}

/// A row of the step's tables that was written in part is nobody's.
TEST(CacheDeviceFailure, TablesAfterAStepOfOthersThatFailed) {
  Scene scene(32);
  KvCache& cache = scene.filled.cache;
  const auto begin = [&](SequenceId sequence) {
    const KvRequest request{sequence, 0};
    return cache.begin({&request, 1});
  };
  begin(scene.a).commit();
  for (const int n : {1, 2}) {
    scene.memory.fail_at(Call::upload, n);
    EXPECT_THROW(begin(scene.b), Error);
    const KvStep step = begin(scene.a);
    for (int group = 0; group < 2; ++group) {
      const auto pages = cache.pages(scene.a, group);
      const std::int32_t* row = step.tables(group).pages;
      EXPECT_EQ(Tokens(row, row + pages.size()), Tokens(pages.begin(), pages.end()));
    }
  }
}

/// Pages that were given up for a step that failed are free; nothing else has changed.
TEST(CacheDeviceFailure, StepsThatEvict) {
  for (const Call call : {Call::copy_rows, Call::upload}) {
    Scene scene(10);
    EXPECT_GT(failures_until_success(scene, call), 0);
    EXPECT_GT(scene.filled.cache.counters().evictions, 0);
    scene.filled.expect_content(scene.b, scene.b_grown);
    EXPECT_EQ(scene.filled.pages_used() + scene.filled.pages_cached() + scene.filled.pages_free(),
              10);
  }
}

TEST(CacheDeviceFailure, ScalesAreSetBothOrNot) {
  FailingMemory memory;
  KvCacheOptions options = small_options({small_group(4)});
  options.groups[0].group.shape.kv_type = DType::f8e4m3;
  options.memory = &memory;
  KvCache cache(options);
  const auto set = [&](float k, float v) {
    cache.set_scales(0, 0, std::span(&k, 1), std::span(&v, 1));
  };
  memory.fail_at(Call::upload, 1);
  EXPECT_THROW(set(1, 2), Error);
  EXPECT_FALSE(cache.has_scales(0, 0));
  set(1, 2);
  memory.fail_at(Call::upload, 1);
  EXPECT_THROW(set(3, 4), Error);
  EXPECT_EQ(*cache.k_scale(0, 0), 1.0F);
  EXPECT_EQ(*cache.v_scale(0, 0), 2.0F);
  memory.fail_at(Call::upload, 2);
  set(3, 4);  // in one
  EXPECT_EQ(*cache.k_scale(0, 0), 3.0F);
  EXPECT_EQ(*cache.v_scale(0, 0), 4.0F);
}

}  // namespace
}  // namespace headwise
