#include "advisor/advice/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "headwise/error.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

class Sweeps : public testing::Test {
 protected:
  Served served(const char* name) const { return {described(name), {}, {.batch = 4}}; }

  const DeviceTimes times_ = device_times(read_hardware("h200"));
};

void expect_equal(const ContextTimes& a, const ContextTimes& b) {
  EXPECT_EQ(a.prefill.total().seconds, b.prefill.total().seconds);
  EXPECT_EQ(a.prefill.total().error, b.prefill.total().error);
  EXPECT_EQ(a.decode.total().seconds, b.decode.total().seconds);
  EXPECT_EQ(a.decode.total().error, b.decode.total().error);
  EXPECT_EQ(a.decode.attention_share(), b.decode.attention_share());
  EXPECT_EQ(a.kv_bytes, b.kv_bytes);
  EXPECT_EQ(a.largest_batch.requests, b.largest_batch.requests);
  EXPECT_EQ(a.decode_at_largest.seconds, b.decode_at_largest.seconds);
}

TEST_F(Sweeps, TheModelsOwnRowIsTheContexts) {
  for (const auto& [name, text] :
       {std::pair("llama-3.1-8b", "kv_heads=1,2,4,8,16,32"),
        std::pair("gpt-oss-120b", "full_every=1,2,4"), std::pair("deepseek-r1", "mla_rank=256,512"),
        std::pair("qwen3-32b", "kv_type=f8,bf16"),
        std::pair("mistral-7b-v0.1", "window=1k,4k,full")}) {
    const Served model = served(name);
    const Sweep result = sweep(model, parse_sweep(text), 32768, times_);
    ASSERT_EQ(std::ranges::count(result.rows, true, &SweepRow::is_model), 1) << name;
    expect_equal(std::ranges::find(result.rows, true, &SweepRow::is_model)->times,
                 context_times(model, 32768, times_));
  }
}

TEST_F(Sweeps, WithoutItsOwnValueTheModelComesFirst) {
  const Served model = served("llama-3.1-8b");
  const Sweep result = sweep(model, parse_sweep("kv_heads=4,2"), 8192, times_);
  ASSERT_EQ(result.rows.size(), 3U);
  EXPECT_EQ(result.rows.front().value, "unchanged");
  EXPECT_TRUE(result.rows.front().is_model);
  expect_equal(result.rows.front().times, context_times(model, 8192, times_));
}

TEST_F(Sweeps, OrderDoesNotMatter) {
  const Served model = served("llama-3.1-70b");
  const char* const texts[] = {"kv_heads=1,2,5,8,64", "kv_heads=64,5,8,1,2", "kv_heads=8,64,2,5,1"};
  std::vector<Sweep> sweeps;
  for (const char* text : texts) {
    const DeviceTimes fresh = device_times(read_hardware("h200"));
    sweeps.push_back(sweep(model, parse_sweep(text), 16384, fresh));
  }
  for (const SweepRow& row : sweeps[0].rows)
    for (const Sweep& other : sweeps) {
      const auto same = std::ranges::find(other.rows, row.value, &SweepRow::value);
      ASSERT_NE(same, other.rows.end());
      EXPECT_EQ(same->is_model, row.is_model);
      EXPECT_EQ(same->why_not, row.why_not);
      if (row.why_not.empty()) expect_equal(same->times, row.times);
    }
}

TEST_F(Sweeps, ImpossibleValuesAreRowsWithAReason) {
  const Sweep result =
      sweep(served("llama-3.1-8b"), parse_sweep("kv_heads=8,5,2000"), 8192, times_);
  ASSERT_EQ(result.rows.size(), 3U);
  EXPECT_EQ(result.rows[1].why_not, "q_heads 32 is no multiple of kv_heads 5");
  EXPECT_EQ(result.rows[2].why_not, "kv_heads 2000 is not from 1 to 1024");
}

TEST(SweepTexts, ThatCannotBeReadAreOneLine) {
  for (const char* text : {"",
                           "=",
                           "kv_heads",
                           "kv_heads=",
                           "kv_heads=,",
                           "kv_heads=8,",
                           "kv_heads=,8",
                           "kv_heads=8,,4",
                           "kv_heads=8,8",
                           "kv_heads=0",
                           "kv_heads=-8",
                           "kv_heads=8.0",
                           "kv_heads=8k",
                           "kv_heads=1e2",
                           "kv_heads=a",
                           "kv_heads=99999999999",
                           "kv_heads==8",
                           "kv_heads =8",
                           " kv_heads=8",
                           "KV_HEADS=8",
                           "heads=8",
                           "kv_heads=8;4",
                           "kv_heads=8 4",
                           "window=",
                           "window=none",
                           "window=4k,4096",
                           "window=full,full",
                           "window=2m2",
                           "kv_type=f9",
                           "kv_type=bf16,bf16",
                           "kv_type=f8,f8e4m3",
                           "full_every=0",
                           "mla_rank=\n1",
                           "group_size=\xff",
                           "head_dim=128,x\ny",
                           "\x01=1"}) {
    try {
      parse_sweep(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_FALSE(what.empty()) << text;
      EXPECT_TRUE(std::ranges::all_of(what, [](char c) { return c >= ' ' && c <= '~'; })) << what;
    }
  }
  EXPECT_THROW(parse_sweep("kv_heads=" + std::string(1 << 20, '9')), Error);
}

}  // namespace
}  // namespace headwise
