// What a KvCache refuses: the error is of the right kind, and nothing has changed.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "headwise/error.h"
#include "tests/kv/small_cache.h"

namespace headwise {
namespace {

constexpr int kMany = std::numeric_limits<std::int32_t>::max();

void expect_error(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

/// Two groups, one with a window of 4 tokens; a sequence of 13 tokens and one of 3.
class CacheErrors : public testing::Test {
 protected:
  static KvCacheOptions options() {
    KvCacheOptions options = small_options({small_group(8), small_group(8, 3, 0, 2)});
    options.max_sequences = 3;
    options.max_requests = 2;
    options.max_tokens = 20;
    return options;
  }

  void SetUp() override {
    filled_.grow(long_, counted(0, 13));
    filled_.grow(short_, counted(100, 3));
  }

  /// Each call throws Error(invalid_input) and changes nothing, with a step open or without.
  void expect_refused(const std::function<void()>& call,
                      ErrorCode code = ErrorCode::invalid_input) {
    const std::string before = seen(cache_, all_);
    expect_error(code, call);
    EXPECT_EQ(seen(cache_, all_), before);
  }

  KvStep begin(std::vector<KvRequest> requests) { return cache_.begin(requests); }

  SmallCache filled_{options()};
  KvCache& cache_ = filled_.cache;
  SequenceId long_ = cache_.create(), short_ = cache_.create();
  std::vector<SequenceId> all_ = {long_, short_};
};

TEST_F(CacheErrors, GroupsAndLayersThatThereAreNot) {
  for (const int group : {-1, 2, kMany}) {
    expect_refused([&] { (void)cache_.pages(long_, group); });
    expect_refused([&] { (void)cache_.tables(long_, group); });
    expect_refused([&] { (void)cache_.usage(group); });
    expect_refused([&] { (void)cache_.layer(group, 0); });
    expect_refused([&] { (void)cache_.mutable_layer(group, 0); });
    expect_refused([&] { (void)cache_.has_scales(group, 0); });
    expect_refused([&] { (void)cache_.k_scale(group, 0); });
    expect_refused([&] { (void)cache_.v_scale(group, 0); });
    expect_refused([&] { (void)cache_.saturated(group); });
    expect_refused([&] { cache_.set_scales(group, 0, {}, {}); });
  }
  for (const int layer : {-1, 2, kMany}) {
    expect_refused([&] { (void)cache_.layer(1, layer); });
    expect_refused([&] { (void)cache_.mutable_layer(1, layer); });
    expect_refused([&] { (void)cache_.k_scale(1, layer); });
  }
  expect_refused([&] { (void)cache_.layer(0, 1); });  // group 1 has two, group 0 has not
}

TEST_F(CacheErrors, GroupsOfAStepThatThereAreNot) {
  KvStep step = begin({{long_, 1}});
  StepBatch batch;
  for (const int group : {-1, 2, kMany}) {
    expect_refused([&] { (void)step.tables(group); });
    expect_refused([&] { step.describe(group, batch); });
  }
}

TEST_F(CacheErrors, SequencesThatThereAreNot) {
  const SequenceId ended = cache_.create();
  cache_.free(ended);
  const SequenceId next = cache_.create();  // in the row of the one that ended
  KvCache other(options());
  const SequenceId foreign = other.create();
  std::vector<SequenceId> wrong = {ended, foreign, SequenceId{}, {-1, 1}, {kMany, long_.serial}};
  wrong.push_back({long_.row, long_.serial + 1000});
  wrong.push_back({short_.row, long_.serial});
  wrong.push_back({long_.row, 0});
  for (const SequenceId id : wrong) {
    expect_refused([&] { cache_.free(id); });
    expect_refused([&] { cache_.fork(id); });
    expect_refused([&] { cache_.truncate(id, 0); });
    expect_refused([&] { (void)cache_.length(id); });
    expect_refused([&] { (void)cache_.pages(id, 0); });
    expect_refused([&] { (void)cache_.tables(id, 0); });
    expect_refused([&] { begin({{long_, 1}, {id, 1}}); });
  }
  EXPECT_EQ(cache_.length(next), 0);
  EXPECT_EQ(other.length(foreign), 0);
  expect_refused([&] { cache_.fork(long_); },
                 ErrorCode::not_possible);  // three are all there may be
}

TEST_F(CacheErrors, TooManySequences) {
  const SequenceId third = cache_.create();
  all_.push_back(third);
  expect_refused([&] { cache_.create(); }, ErrorCode::not_possible);
  expect_refused([&] { cache_.create(counted(0, 9)); }, ErrorCode::not_possible);
  expect_refused([&] { cache_.fork(long_); }, ErrorCode::not_possible);
  cache_.free(third);
  EXPECT_NE(cache_.create(), third);
}

TEST_F(CacheErrors, SequencesInAnOpenStep) {
  KvStep step = begin({{long_, 2}, {short_, 0}});
  for (const SequenceId id : all_) {
    expect_refused([&] { cache_.fork(id); });
    expect_refused([&] { cache_.truncate(id, 0); });
    expect_refused([&] { cache_.truncate(id, cache_.length(id)); });
    expect_refused([&] { cache_.free(id); });
  }
  expect_refused([&] { begin({{long_, 1}}); });
  expect_refused([&] { begin({}); });
  EXPECT_TRUE(step);
  step.commit();
  EXPECT_EQ(cache_.length(long_), 15);
  cache_.free(short_);
}

TEST_F(CacheErrors, StepsThatCannotBe) {
  const Tokens tokens = counted(0, 21);
  const auto first = [&](std::size_t count) { return std::span(tokens).first(count); };
  expect_refused([&] { begin({{long_, 1}, {long_, 1}}); });
  expect_refused([&] { begin({{long_, 0}, {long_, 0}}); });
  expect_refused([&] { begin({{long_, 1}, {short_, 1}, {long_, 1}}); });
  expect_refused([&] { begin({{long_, -1}}); });
  expect_refused([&] { begin({{short_, 1}, {long_, std::numeric_limits<std::int32_t>::min()}}); });
  expect_refused([&] { begin({{long_, 8}}); });  // 21 tokens
  expect_refused([&] { begin({{short_, 1}, {long_, kMany}}); });
  expect_refused([&] { begin({{long_, 2, first(14)}}); });
  expect_refused([&] { begin({{long_, 2, first(16)}}); });
  expect_refused([&] { begin({{long_, 2, first(2)}}); });  // the new ones alone
  expect_refused([&] { begin({{long_, 0, first(12)}}); });
  begin({{long_, 7, first(20)}, {short_, 0}}).rollback();
}

TEST_F(CacheErrors, PagesRunOutWithNumbers) {
  cache_.clear_prefixes();
  const std::string before = seen(cache_, all_);
  // Of 8 pages, 4 and 1 are used: 17 tokens more of the short one want 4, 7 of the long one 1.
  try {
    begin({{long_, 7}, {short_, 17}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    const std::string text = error.what();
    EXPECT_NE(text.find("group 0"), std::string::npos) << text;
    EXPECT_NE(text.find("5 needed"), std::string::npos) << text;
    EXPECT_NE(text.find("3 free"), std::string::npos) << text;
    EXPECT_NE(text.find("0 cached"), std::string::npos) << text;
  }
  EXPECT_EQ(seen(cache_, all_), before);
  begin({{long_, 7}, {short_, 9}}).commit();  // three, all that there are
  EXPECT_EQ(filled_.pages_free(), 0);
}

TEST_F(CacheErrors, AcceptedTokensThatThereAreNot) {
  KvStep step = begin({{long_, 2}, {short_, 1}});
  const auto commit = [&](std::vector<std::int32_t> accepted) { step.commit(accepted); };
  expect_refused([&] { commit({2}); });
  expect_refused([&] { commit({}); });
  expect_refused([&] { commit({2, 1, 0}); });
  expect_refused([&] { commit({3, 1}); });
  expect_refused([&] { commit({2, -1}); });
  EXPECT_TRUE(step);
  commit({1, 0});
  EXPECT_FALSE(step);
  EXPECT_EQ(cache_.length(long_), 14);
  EXPECT_EQ(cache_.length(short_), 3);
}

TEST_F(CacheErrors, AStepThatHasEnded) {
  KvStep step = begin({{long_, 1}});
  step.commit();
  KvStep rolled_back = begin({{long_, 1}});
  rolled_back.rollback();
  KvStep moved = begin({{long_, 1}});
  KvStep open = std::move(moved);
  KvStep none;
  StepBatch batch;
  for (KvStep* ended : {&step, &rolled_back, &moved, &none}) {
    EXPECT_FALSE(*ended);
    expect_refused([&] { (void)ended->q_lens(); });
    expect_refused([&] { (void)ended->kv_lens(); });
    expect_refused([&] { (void)ended->tables(0); });
    expect_refused([&] { ended->describe(0, batch); });
    expect_refused([&] { ended->commit(); });
    expect_refused([&] { ended->commit(std::vector<std::int32_t>{1}); });
    ended->rollback();  // nothing
  }
  EXPECT_TRUE(open);
  open.commit();
  EXPECT_EQ(cache_.length(long_), 15);
}

TEST_F(CacheErrors, LengthsThatCannotBeCutTo) {
  expect_refused([&] { cache_.truncate(long_, 14); });
  expect_refused([&] { cache_.truncate(long_, -1); });
  expect_refused([&] { cache_.truncate(long_, kMany); });
  expect_refused([&] { cache_.truncate(long_, std::numeric_limits<std::int32_t>::min()); });
  // Of 13 tokens the window needs the last 3 and keeps pages from token 8 on: 11 tokens are the
  // fewest whose window begins there.
  for (const std::int32_t length : {10, 9, 8, 5, 1})
    expect_refused([&] { cache_.truncate(long_, length); });
  cache_.truncate(long_, 11);
  EXPECT_EQ(cache_.length(long_), 11);
  expect_refused([&] { cache_.truncate(long_, 10); });
  cache_.truncate(long_, 0);  // needs nothing
  EXPECT_TRUE(cache_.pages(long_, 0).empty());
}

TEST_F(CacheErrors, ExtrasThatCannotBe) {
  using Kind = PrefixExtra::Kind;
  const std::vector<PrefixKey> wrong = {
      {{Kind::salt, ""}},           {{Kind::adapter, "a"}, {Kind::salt, ""}},
      {{Kind::image, "a"}},         {{Kind::image, "a", -1, 1}},
      {{Kind::image, "a", 0, -1}},  {{Kind::image, "", 0, 1}},
      {{static_cast<Kind>(3), "a"}}};
  for (const PrefixKey& key : wrong) {
    expect_error(ErrorCode::invalid_input, [&] { validate(key); });
    expect_refused([&] { cache_.create(key); });
    expect_refused([&] { cache_.create(counted(0, 9), key); });
  }
}

TEST(CacheOptions, EveryFieldIsChecked) {
  using Options = KvCacheOptions;
  const Options good = small_options({small_group(4), small_group(4, 2)});
  const std::vector<std::function<void(Options&)>> changes = {
      [](Options& o) { o.groups.clear(); },
      [](Options& o) { o.page_size = 0; },
      [](Options& o) { o.page_size = -1; },
      [](Options& o) { o.max_sequences = 0; },
      [](Options& o) { o.max_sequences = -1; },
      [](Options& o) { o.max_requests = -1; },
      [](Options& o) { o.max_tokens = 0; },
      [](Options& o) { o.max_tokens = -1; },
      [](Options& o) { o.min_partial_tokens = 0; },
      [](Options& o) { o.min_partial_tokens = -1; },
      [](Options& o) { o.groups[1].pages = 0; },
      [](Options& o) { o.groups[1].pages = -1; },
      [](Options& o) { o.groups[1].pages = std::int64_t{1} << 31; },
      [](Options& o) { o.groups[1].pages = std::numeric_limits<std::int64_t>::max(); },
      [](Options& o) { o.groups[1].window_slack = -1; },
      [](Options& o) { o.groups[1].group.layers = 0; },
      [](Options& o) { o.groups[1].group.shape.kv_heads = 0; },
      [](Options& o) { o.groups[1].group.shape.head_dim_qk = 0; },
      [](Options& o) { o.groups[1].group.shape.window_left = -2; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    Options bad = good;
    changes[i](bad);
    expect_error(ErrorCode::invalid_input, [&] { KvCache cache(bad); });
    bad.prefix_cache = false;
    expect_error(ErrorCode::invalid_input, [&] { KvCache cache(bad); });
  }
  const KvCache cache(good);
  EXPECT_EQ(cache.options().max_requests, good.max_sequences);
  EXPECT_EQ(cache.options().memory, &cpu_memory());
}

TEST(CacheOptions, MoreMemoryThanThereIsIsNotPossible) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the program there";
#endif
  KvCacheOptions options = small_options({small_group(1 << 20)});
  options.groups[0].group.layers = 1 << 30;
  expect_error(ErrorCode::not_possible, [&] { KvCache cache(options); });
}

}  // namespace
}  // namespace headwise
