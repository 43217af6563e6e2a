#include "advisor/time/step_time.h"

#include <gtest/gtest.h>

#include "advisor/time/serving.h"
#include "headwise/error.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

class StepTimes : public testing::Test {
 protected:
  const DeviceTimes times_ = device_times(read_hardware("h200"));
  const ModelDescription llama70_ = described("llama-3.1-70b");
  const ModelDescription r1_ = described("deepseek-r1");

  StepTime decode(const ModelDescription& model, const Deployment& deployment, std::int64_t batch,
                  std::int64_t context) const {
    return step_time(model, deployment,
                     {.batch = batch, .tokens = {.prefix = context - 1, .count = 1}}, times_);
  }
  StepTime prefill(const ModelDescription& model, const Deployment& deployment, std::int64_t batch,
                   std::int64_t count, std::int64_t prefix = 0) const {
    return step_time(model, deployment,
                     {.batch = batch, .tokens = {.prefix = prefix, .count = count}}, times_);
  }
  double core_seconds(const Attention& attention, std::int64_t batch, NewTokens tokens,
                      LatentForm form = LatentForm::expanded) const {
    return times_
        .time(CoreAttention{.attention = attention, .form = form, .batch = batch, .tokens = tokens})
        .seconds;
  }
};

double seconds(const StepTime& time, StepPart part) { return time.at(part).seconds; }

constexpr std::int64_t k16K = 16384;

TEST_F(StepTimes, PartsAreSumsOverLayers) {
  const StepTime step = decode(llama70_, {}, 16, k16K);
  const NewTokens last{.prefix = k16K - 1, .count = 1};
  EXPECT_DOUBLE_EQ(seconds(step, StepPart::attention),
                   80 * core_seconds(SoftmaxAttention{64, 8, 128, 128, {}}, 16, last));
  const auto product = [&](std::int64_t n, std::int64_t k) {
    return times_.time(Product{.m = 16, .n = n, .k = k}).seconds;
  };
  EXPECT_NEAR(seconds(step, StepPart::projections),
              80 * (product(10240, 8192) + product(8192, 8192)), 1e-12);
  EXPECT_NEAR(seconds(step, StepPart::feed_forward),
              80 * (product(2 * 28672, 8192) + product(8192, 28672)), 1e-12);
  EXPECT_DOUBLE_EQ(seconds(step, StepPart::output_matrix), product(128256, 8192));
  EXPECT_EQ(seconds(step, StepPart::communication), 0.0);
  EXPECT_EQ(seconds(step, StepPart::router), 0.0);
}

TEST_F(StepTimes, TensorParallelismSplitsHeadsAndWidths) {
  const StepTime step = decode(llama70_, {.tp = 8, .tp_ff = 8}, 16, k16K);
  const NewTokens last{.prefix = k16K - 1, .count = 1};
  EXPECT_DOUBLE_EQ(seconds(step, StepPart::attention),
                   80 * core_seconds(SoftmaxAttention{8, 1, 128, 128, {}}, 16, last));
  EXPECT_NEAR(seconds(step, StepPart::feed_forward),
              80 * (times_.time(Product{.m = 16, .n = 2 * 3584, .k = 8192}).seconds +
                    times_.time(Product{.m = 16, .n = 8192, .k = 3584}).seconds),
              1e-12);
  // two sums a layer of 16 rows of 8192 in bf16
  const Exchange sum{.kind = Exchange::Kind::all_reduce, .bytes = 16.0 * 8192 * 2, .devices = 8};
  EXPECT_NEAR(seconds(step, StepPart::communication), 160 * times_.time(sum).seconds, 1e-12);
}

// 16 devices and 8 KV heads: two devices have the same one.
TEST_F(StepTimes, MoreDevicesThanKvHeadsDuplicateThem) {
  const Attention own = sharded(llama70_.groups.front().layer.attention, 16);
  EXPECT_EQ(std::get<SoftmaxAttention>(own).q_heads, 4);
  EXPECT_EQ(std::get<SoftmaxAttention>(own).kv_heads, 1);
}

TEST_F(StepTimes, DataParallelAttentionSplitsRequests) {
  const NewTokens last{.prefix = k16K - 1, .count = 1};
  const StepTime step = decode(r1_, {.adp = 8, .ep = 8}, 64, k16K);
  EXPECT_DOUBLE_EQ(
      seconds(step, StepPart::attention),
      61 * core_seconds(r1_.groups.front().layer.attention, 8, last, LatentForm::absorbed));
}

TEST_F(StepTimes, ContextParallelismSplitsTheContext) {
  const StepTime step = decode(llama70_, {.tp = 8, .kvp = 4, .tp_ff = 32}, 16, 4 * k16K);
  const StepTime quarter = decode(llama70_, {.tp = 8, .tp_ff = 8}, 16, k16K);
  EXPECT_DOUBLE_EQ(seconds(step, StepPart::attention), seconds(quarter, StepPart::attention));
}

TEST_F(StepTimes, StagesCostNothingButExchanges) {
  const StepTime one = decode(llama70_, {}, 4, k16K), four = decode(llama70_, {.pp = 4}, 4, k16K);
  for (const StepPart part : {StepPart::attention, StepPart::projections, StepPart::feed_forward})
    EXPECT_EQ(seconds(one, part), seconds(four, part));
  EXPECT_GT(seconds(four, StepPart::communication), seconds(one, StepPart::communication));
}

// 61 layers over 8 stages: eight requests keep all busy and go at the pace of the fullest, which
// has 8 of 61; one request passes 61 layers.
TEST_F(StepTimes, FullPipelinesGoAtTheFullestStagesPace) {
  const auto core = [&](std::int64_t batch, std::int64_t pp) {
    return next_token(r1_, {.pp = pp}, batch, k16K, times_).at(StepPart::attention).seconds;
  };
  EXPECT_EQ(core(1, 8), core(1, 1));
  EXPECT_NEAR(core(8, 8), core(1, 1) * 64.0 / 61.0, 1e-12);
}

// 16 tokens, one shared and 8 of 256 routed experts of 2048 in bf16, 58 layers with them and three
// dense ones of 18432.
TEST_F(StepTimes, SharedExpertsRunBesideRoutedOnesWhereTheyDo) {
  Deployment after{.tp = 8, .tp_ff = 8, .ep = 8}, beside = after;
  beside.shared_beside_routed = true;
  const auto product = [&](std::int64_t n, std::int64_t k) {
    return times_.time(Product{.m = 16, .n = n, .k = k}).seconds;
  };
  const double dense = product(2 * 2304, 7168) + product(7168, 2304);
  const double shared = product(2 * 256, 7168) + product(7168, 256);
  const double routed =
      times_
          .time(Experts{
              .tokens = 16, .hidden = 7168, .width = 2048, .experts = 256, .top_k = 8, .ep = 8})
          .seconds;
  EXPECT_NEAR(seconds(decode(r1_, after, 16, k16K), StepPart::feed_forward),
              3 * dense + 58 * (shared + routed), 1e-12);
  EXPECT_NEAR(seconds(decode(r1_, beside, 16, k16K), StepPart::feed_forward),
              3 * dense + 58 * std::max(shared, routed), 1e-12);
  EXPECT_EQ(seconds(prefill(r1_, beside, 1, 4096), StepPart::feed_forward),
            seconds(prefill(r1_, after, 1, 4096), StepPart::feed_forward));
}

// 64 requests over 16 groups, 4 tokens of 7168 in bf16 each. Experts whole: a token goes to 8 of
// the 16 devices. Split over all: to all 16. Whole over 4, each split over 4: also to 16.
TEST_F(StepTimes, TokensGoToAllThatShareTheirExperts) {
  const auto communication = [&](std::int64_t ep) {
    return seconds(decode(r1_, {.adp = 16, .ep = ep}, 64, k16K), StepPart::communication);
  };
  const auto expected = [&](std::int64_t reached) {
    const Exchange each{.kind = Exchange::Kind::all_to_all,
                        .bytes = 4.0 * 7168 * 2 * static_cast<double>(reached),
                        .devices = 16};
    return 58 * 2 * times_.time(each).seconds;
  };
  EXPECT_NEAR(communication(16), expected(8), 1e-12);
  EXPECT_NEAR(communication(1), expected(16), 1e-12);
  EXPECT_NEAR(communication(4), expected(16), 1e-12);
}

// A prompt of two and a half chunks takes linear layers as long as two chunks and half a one.
TEST_F(StepTimes, LinearLayersGoByChunks) {
  const StepTime whole = prefill(llama70_, {.chunk = 8192}, 1, 8192);
  const StepTime half = prefill(llama70_, {.chunk = 8192}, 1, 4096);
  const StepTime more = prefill(llama70_, {.chunk = 8192}, 1, 20480);
  for (const StepPart part : {StepPart::projections, StepPart::feed_forward, StepPart::overhead})
    EXPECT_NEAR(seconds(more, part), 2 * seconds(whole, part) + seconds(half, part),
                1e-9 * seconds(more, part));
  EXPECT_EQ(seconds(more, StepPart::output_matrix), seconds(whole, StepPart::output_matrix));
  const StepTime few = prefill(llama70_, {.chunk = 8192}, 1, 64);
  EXPECT_GT(128 * seconds(few, StepPart::projections), seconds(whole, StepPart::projections));
}

TEST_F(StepTimes, LatentAttentionBehindAPrefixTakesTheCheaperForm) {
  const Deployment groups{.adp = 8, .ep = 8};
  const auto form = [&](std::int64_t count, std::int64_t prefix) {
    const StepTime step = prefill(r1_, groups, 8, count, prefix);
    return step.at(StepPart::attention).of.front()->query;
  };
  EXPECT_EQ(form(16, 16384), "mla_decode");
  EXPECT_EQ(form(8192, 8192), "mla_prefill");
}

TEST_F(StepTimes, AShareNeedsAllItsParts) {
  const DeviceTimes cpu = device_times(read_hardware("epyc_9005"));
  const StepTime step = step_time(llama70_, {}, {.batch = 1, .tokens = {.count = 4096}}, cpu);
  EXPECT_FALSE(step.attention_share());
  EXPECT_FALSE(step.total());
}

TEST_F(StepTimes, ImpossibleDeploymentsSayWhy) {
  const auto why = [&](const ModelDescription& model, const Deployment& deployment) {
    return why_impossible(model, deployment);
  };
  EXPECT_EQ(why(llama70_, {.tp = 8, .tp_ff = 8}), "");
  EXPECT_EQ(why(llama70_, {.tp = 3}), "tp 3 does not divide 64 query heads");
  EXPECT_EQ(why(llama70_, {.tp = 4, .tp_ff = 3}), "tp_ff 3 does not divide a stage of 4 devices");
  EXPECT_EQ(why(r1_, {.adp = 12, .ep = 12}), "ep 12 does not divide 256 experts");
  EXPECT_EQ(why(llama70_, {.pp = 81}), "pp 81 is more than 80 layers");
  EXPECT_EQ(why(llama70_, {.adp = 3, .tp_ff = 3}), "tp_ff 3 does not divide a width of 28672");
  EXPECT_EQ(why(r1_, {.adp = 3}), "3 devices an expert do not divide its width of 2048");
  EXPECT_EQ(why(llama70_, {.kvp = 0}), "a width of 0");
  EXPECT_THROW(decode(llama70_, {.tp = 3}, 1, 4096), Error);
  EXPECT_THROW(decode(llama70_, {}, 0, 4096), Error);
}

// Every model, every device: an answer or a reason, and never a time of 0.
TEST_F(StepTimes, AllModelsOnAllDevices) {
  for (const std::filesystem::path& file : list_hardware()) {
    const DeviceTimes times = device_times(read_hardware(file.string()));
    for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS)) {
      const ModelDescription model = described(entry.path().stem().string());
      for (const NewTokens& tokens :
           {NewTokens{0, 8192}, NewTokens{8191, 1}, NewTokens{8000, 192}}) {
        const Estimate total = step_time(model, {}, {.batch = 2, .tokens = tokens}, times).total();
        if (total) {
          EXPECT_GT(total.seconds, 0.0);
          EXPECT_FALSE(total.of.empty());
        } else {
          EXPECT_NE(total.why_not.find(file.stem().string()), std::string::npos) << total.why_not;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwise
