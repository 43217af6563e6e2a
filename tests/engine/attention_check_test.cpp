#include "engine/attention_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headwise/kv_cache.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

/// One head of dimension 2 that looks at 8 equal keys: out is the values' mean.
struct OneHead {
  AttentionShape shape{.q_heads = 1,
                       .kv_heads = 1,
                       .head_dim_qk = 2,
                       .head_dim_v = 2,
                       .q_type = DType::f32,
                       .kv_type = DType::f32};
  KvCache cache{{.groups = {{.group = {.shape = shape, .layers = 1}, .pages = 2}},
                 .page_size = 4,
                 .max_tokens = 8}};
  SequenceId sequence = cache.create();
  std::vector<float> q = {1, 2};
  std::vector<float> out = {3.5F, 8};
  std::int32_t q_len = 1;
  std::int32_t kv_len = 8;

  OneHead() {
    const std::vector<float> k(16, 1.0F);
    std::vector<float> v;
    for (int token = 0; token < 8; ++token) v.insert(v.end(), {float(token), 8.0F});
    const KvRequest request{.sequence = sequence, .new_tokens = 8};
    KvStep step = cache.begin({&request, 1});
    step.append_kv(Registry::builtin().find("reference"), 0, 0,
                   dense(k.data(), DType::f32, {8, 1, 2}), dense(v.data(), DType::f32, {8, 1, 2}));
    step.commit();
  }

  StepBatch step() {
    StepBatch batch;
    batch.q = dense(q.data(), DType::f32, {1, 1, 2});
    batch.out = dense(out.data(), DType::f32, {1, 1, 2});
    batch.q_lens = {&q_len, 1};
    batch.kv_lens = {&kv_len, 1};
    batch.tables = cache.tables(sequence, 0);
    return batch;
  }
};

TEST(AttentionCheck, AcceptsWhatIsRight) {
  OneHead head;
  AttentionCheck check(head.cache, 0);
  check.compare(head.step(), 0);
  EXPECT_EQ(check.rows(), 1);
  EXPECT_TRUE(check.passed()) << check.worst();
}

TEST(AttentionCheck, FindsWhatIsWrong) {
  OneHead head;
  head.out[1] = 8.001F;
  AttentionCheck check(head.cache, 0);
  check.compare(head.step(), 0);
  EXPECT_FALSE(check.passed());
  EXPECT_NEAR(check.worst(), 0.001 / std::hypot(3.5, 8.0), 1e-6);
}

TEST(AttentionCheck, NotANumberIsWrong) {
  OneHead head;
  head.out[0] = NAN;
  AttentionCheck check(head.cache, 0);
  check.compare(head.step(), 0);
  EXPECT_FALSE(check.passed());
}

}  // namespace
}  // namespace headwise
