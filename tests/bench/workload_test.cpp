#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "attention/shape_spec.h"
#include "bench/sizes.h"
#include "headwise/error.h"

namespace headwise::bench {
namespace {

using Lengths = std::vector<std::int32_t>;

std::string error_of(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// A file that is gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) : path_(testing::TempDir() + "headwise_lens") {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Sizes, TakeKAndMAs1024s) {
  EXPECT_EQ(parse_size("1"), 1);
  EXPECT_EQ(parse_size("4k"), 4096);
  EXPECT_EQ(parse_size("1m"), 1 << 20);
  EXPECT_EQ(parse_sizes("4k,32k,7"), (std::vector<std::int64_t>{4096, 32768, 7}));
}

TEST(Sizes, RefuseWhatIsNone) {
  for (const char* text : {"", "k", "0", "-4k", "4kk", "4.5k", " 4", "4 ", "3000m", "9999999999"})
    EXPECT_NE(error_of([&] { parse_size(text); }, ErrorCode::invalid_input).find(text),
              std::string::npos);
  for (const char* text : {"", ",", "4k,", ",4k", "4k,,8k"})
    error_of([&] { parse_sizes(text); }, ErrorCode::invalid_input);
}

TEST(Workloads, OutliersAreThoseOfEverySuite) {
  for (const Suite suite :
       {Suite::prefill, Suite::append, Suite::decode, Suite::mixed, Suite::paged})
    for (const Workload& workload : make_workloads(suite, {.contexts = {64}, .outliers = 7})) {
      EXPECT_EQ(workload.outliers, 7);
      EXPECT_EQ(requests_of(workload, 0, 1).outliers, 7);
      EXPECT_NE(to_string(workload).find(" outliers 7"), std::string::npos);
    }
}

TEST(Workloads, PrefillHasNothingCached) {
  const auto all = make_workloads(Suite::prefill, {.contexts = {16, 32}, .batch = 2});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].q_lens, (Lengths{32, 32}));
  EXPECT_EQ(all[1].kv_lens, (Lengths{32, 32}));
  EXPECT_EQ(all[1].tokens(), 64);
}

TEST(Workloads, AppendComesBehindTheContext) {
  const auto all = make_workloads(Suite::append, {.contexts = {100, 200}, .new_tokens = {8, 16}});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].q_lens, Lengths{16});
  EXPECT_EQ(all[1].kv_lens, Lengths{116});
  EXPECT_EQ(all[2].kv_lens, Lengths{208});
  EXPECT_EQ(phase_of(all[0].lengths()), Phase::append);
}

TEST(Workloads, DecodeCountsItsNewToken) {
  const auto all = make_workloads(Suite::decode, {.contexts = {100}, .batch = 3});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].q_lens, (Lengths{1, 1, 1}));
  EXPECT_EQ(all[0].kv_lens, (Lengths{100, 100, 100}));
  EXPECT_EQ(phase_of(all[0].lengths()), Phase::decode);
}

TEST(Workloads, MixedPutsAChunkBesideDecodes) {
  const auto all = make_workloads(Suite::mixed, {.contexts = {4096, 64}, .batch = 2});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].q_lens, (Lengths{2048, 1, 1}));
  EXPECT_EQ(all[0].kv_lens, (Lengths{2048, 4096, 4096}));
  EXPECT_EQ(all[1].kv_lens, (Lengths{64, 64, 64}));
  EXPECT_EQ(phase_of(all[0].lengths()), Phase::mixed);
}

TEST(Workloads, RequestsOfAStepAreAStep) {
  const Workload mixed = make_workloads(Suite::mixed, {.contexts = {64}, .batch = 2})[0];
  EXPECT_EQ(requests_of(mixed, 0, 1).q_lens, Lengths{64});
  EXPECT_EQ(requests_of(mixed, 1, 2).q_lens, (Lengths{1, 1}));
  EXPECT_EQ(requests_of(mixed, 1, 2).kv_lens, (Lengths{64, 64}));
}

TEST(Workloads, APrefixIsSharedByThoseWhoHaveItCached) {
  const auto decode =
      make_workloads(Suite::decode, {.contexts = {100}, .batch = 3, .shared_prefix = 64})[0];
  EXPECT_EQ(decode.shared_prefix, 64);
  EXPECT_EQ(decode.lens, "even, prefix 64");
  EXPECT_TRUE(decode.shares_prefix(0));
  const auto mixed =
      make_workloads(Suite::mixed, {.contexts = {100}, .batch = 2, .shared_prefix = 64})[0];
  EXPECT_FALSE(mixed.shares_prefix(0));
  EXPECT_TRUE(mixed.shares_prefix(1));
  EXPECT_TRUE(requests_of(mixed, 1, 2).shares_prefix(0));
  EXPECT_FALSE(requests_of(mixed, 0, 1).shares_prefix(0));
  EXPECT_EQ(
      make_workloads(Suite::prefill, {.contexts = {100}, .shared_prefix = 64})[0].shared_prefix, 0);
  const std::string text =
      error_of([] { make_workloads(Suite::decode, {.contexts = {64}, .shared_prefix = 64}); },
               ErrorCode::invalid_input);
  EXPECT_NE(text.find("has cached: 63"), std::string::npos) << text;
}

TEST(Workloads, ASharedPrefixIsReadOnce) {
  const AttentionShape shape = parse_shape_spec("q4:kv2:d16").shape;
  Workload workload =
      make_workloads(Suite::decode, {.contexts = {100}, .batch = 3, .shared_prefix = 64})[0];
  const AttentionWork shared = work_of(shape, workload);
  workload.shared_prefix = 0;
  const AttentionWork apart = work_of(shape, workload);
  EXPECT_EQ(shared.flops, apart.flops);
  // Two of three times 64 tokens, 2 KV heads, K and V, 16 elements of 2 bytes.
  EXPECT_EQ(apart.read_bytes - shared.read_bytes, 2 * 64 * 2 * 2 * 16 * 2);
  // Through a window of 50 tokens each of them sees 14 of the prefix's.
  const AttentionShape narrow = parse_shape_spec("q4:kv2:d16:w50").shape;
  const double seen = work_of(narrow, workload).read_bytes;
  workload.shared_prefix = 64;
  EXPECT_EQ(seen - work_of(narrow, workload).read_bytes, 2 * 14 * 2 * 2 * 16 * 2);
}

TEST(Workloads, PagedIsADecodeAndAPrefill) {
  const auto all = make_workloads(Suite::paged, {.contexts = {64}, .batch = 2});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].q_lens, (Lengths{1, 1}));
  EXPECT_EQ(all[1].q_lens, (Lengths{64, 64}));
  EXPECT_TRUE(make_workloads(Suite::goals, {}).empty());
  EXPECT_TRUE(make_workloads(Suite::claims, {}).empty());
}

TEST(Workloads, RefuseRequestsPast31Bits) {
  const std::string text =
      error_of([] { make_workloads(Suite::append, {.contexts = {2147483647}, .new_tokens = {1}}); },
               ErrorCode::invalid_input);
  EXPECT_NE(text.find("2147483648"), std::string::npos) << text;
}

TEST(Workloads, UnknownSuiteNamesTheSuites) {
  const std::string text = error_of([] { parse_suite("decoed"); }, ErrorCode::unknown_name);
  for (const char* name : {"decoed", "prefill", "append", "decode", "mixed"})
    EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_EQ(parse_suite("mixed"), Suite::mixed);
}

TEST(LensTest, OneLongAndZipf) {
  const auto one = context_lengths(parse_lens("one-long"), 128 * 1024, 4, 0);
  EXPECT_EQ(one, (std::vector<std::int64_t>{128 * 1024, 1024, 1024, 1024}));
  const auto zipf = context_lengths(parse_lens("zipf"), 128 * 1024, 2000, 7);
  EXPECT_EQ(zipf, context_lengths(parse_lens("zipf"), 128 * 1024, 2000, 7));
  EXPECT_NE(zipf, context_lengths(parse_lens("zipf"), 128 * 1024, 2000, 8));
  for (const std::int64_t length : zipf) {
    EXPECT_EQ(length % 1024, 0);
    EXPECT_GE(length, 1024);
    EXPECT_LE(length, 128 * 1024);
  }
  // In proportion to 1 / k, k = 1 has 1 / H(128) = 18% of them.
  const auto shortest = std::count(zipf.begin(), zipf.end(), 1024);
  EXPECT_NEAR(static_cast<double>(shortest) / 2000.0, 0.184, 0.04);
}

TEST(LensTest, ReadsAFile) {
  const TemporaryFile file("# contexts\n4k\n\n  17 # odd\n1k\n");
  const Lens lens = parse_lens(file.path());
  EXPECT_EQ(lens.name, file.path());
  const auto all = make_workloads(Suite::decode, {.contexts = {8, 16}, .batch = 9, .lens = lens});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kv_lens, (Lengths{4096, 17, 1024}));
}

TEST(LensTest, RefusesBadFilesAndNames) {
  const std::string missing = error_of([] { parse_lens("zpif"); }, ErrorCode::unknown_name);
  for (const char* name : {"zpif", "even", "zipf", "one-long"})
    EXPECT_NE(missing.find(name), std::string::npos) << missing;
  error_of([] { parse_lens(testing::TempDir()); }, ErrorCode::unknown_name);
  const TemporaryFile bad("4k\n4x\n");
  const std::string line = error_of([&] { parse_lens(bad.path()); }, ErrorCode::invalid_input);
  EXPECT_NE(line.find("line 2"), std::string::npos) << line;
  const TemporaryFile none("# nothing\n");
  error_of([&] { parse_lens(none.path()); }, ErrorCode::invalid_input);
}

}  // namespace
}  // namespace headwise::bench
