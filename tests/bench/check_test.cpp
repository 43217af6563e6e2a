#include "bench/check.h"

#include <gtest/gtest.h>

#include <set>

#include "attention/output_bound.h"
#include "attention/shape_spec.h"
#include "bench/candidate.h"
#include "cpu/reference.h"
#include "tests/bench/fake_backends.h"

namespace headwise::bench {
namespace {

using Fault = FakeBackend::Fault;

Workload ragged() {
  return {.suite = Suite::mixed, .lens = "test", .q_lens = {9, 1, 3}, .kv_lens = {9, 70, 40}};
}

std::string failure_of(Fault fault, const char* shape_text = "q4:kv2:d16") {
  const AttentionShape shape = parse_shape_spec(shape_text).shape;
  const FakeBackend backend("fake", fault);
  const Workload workload = ragged();
  StepTensors tensors(shape, workload, 16, 2, 5);
  Candidate candidate(backend, shape, tensors, {.threads = 1});
  candidate.run_poisoned(1);
  const ExactRows exact(shape, workload, tensors, 1, sample_rows(shape, workload, 1e9, 5),
                        reference_backend(), 1);
  return exact
      .judge(
          {.data = tensors.out(1).data(), .type = shape.out_type(), .bound = output_bound(shape)})
      .fault;
}

TEST(Check, PassesWhatIsRight) {
  EXPECT_EQ(failure_of(Fault::none), "");
  EXPECT_EQ(failure_of(Fault::none, "q4:kv2:d16:v8:w5:cap10:sinks:i8"), "");
  EXPECT_EQ(failure_of(Fault::none, "q4:kv1:d24:v16:mla:f8"), "");
}

TEST(Check, CatchesOneHeadOfOneRow) {
  const std::string failure = failure_of(Fault::last_row);
  EXPECT_NE(failure.find("request 2"), std::string::npos) << failure;
  EXPECT_NE(failure.find("0.005"), std::string::npos) << failure;
}

TEST(Check, CatchesWhatWasNotWritten) {
  EXPECT_NE(failure_of(Fault::unwritten).find("1 outputs are NaN"), std::string::npos);
}

TEST(Check, SamplesAnOutlierWhereThereIsOne) {
  const AttentionShape shape = parse_shape_spec("q2:kv1:d8").shape;
  Workload workload = ragged();
  workload.q_lens = {5000, 1, 4000};
  workload.kv_lens = {9000, 70, 4000};
  workload.outliers = 3000;
  const OutlierRows outliers = outliers_of(shape, workload);
  for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL}) {
    const auto rows = sample_rows(shape, workload, 0.0, seed);
    EXPECT_LE(rows.size(), 3U);
    bool has = false;
    for (const SampledRow& row : rows) {
      const std::int64_t token =
          std::vector{0, 5000, 5001}[static_cast<std::size_t>(row.request)] + row.row;
      for (const std::int64_t head : {0, 1})
        has = has || outliers.has(token * 2 + head, seed_of_q(seed, 0));
    }
    EXPECT_TRUE(has) << seed;
  }
  workload.outliers = std::int64_t{1} << 60;
  EXPECT_EQ(sample_rows(shape, workload, 0.0, 1).size(), 2U);  // there is none
}

TEST(Check, BoundsAreTheLooserOfQAndKv) {
  const auto bound = [](const char* text) { return output_bound(parse_shape_spec(text).shape); };
  EXPECT_EQ(bound("q1:kv1:d8:f32"), 5e-6);
  EXPECT_EQ(bound("q1:kv1:d8:f16"), 6e-4);
  EXPECT_EQ(bound("q1:kv1:d8"), 5e-3);
  EXPECT_EQ(bound("q1:kv1:d8:f8"), 5e-3);
  EXPECT_EQ(bound("q1:kv1:d8:f8p"), 4e-2);
  AttentionShape shape = parse_shape_spec("q1:kv1:d8:f32").shape;
  shape.kv_type = DType::f16;
  EXPECT_EQ(output_bound(shape), 6e-4);
}

TEST(Check, SamplesWithinTheStepAndTheBudget) {
  const AttentionShape shape = parse_shape_spec("q4:kv2:d16").shape;
  const Workload workload = ragged();
  std::set<std::pair<std::int64_t, std::int32_t>> all;
  for (const SampledRow& row : sample_rows(shape, workload, 1e9, 1)) {
    ASSERT_LT(row.row, workload.q_lens[static_cast<std::size_t>(row.request)]);
    EXPECT_TRUE(all.emplace(row.request, row.row).second);
  }
  EXPECT_EQ(all.size(), 13U);  // every row of so small a step
  const auto few = sample_rows(shape, workload, 0.0, 1);
  ASSERT_LE(few.size(), 2U);
  EXPECT_EQ(few[0].request == 1 || few[1].request == 1, true);  // the longest one
}

}  // namespace
}  // namespace headwise::bench
