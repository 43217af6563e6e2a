#include <gtest/gtest.h>

#include <filesystem>

#include "advisor/model/model_work.h"
#include "advisor/time/deployment.h"
#include "advisor/time/layer_exchanges.h"
#include "advisor/time/layer_time.h"
#include "advisor/time/projections.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

std::vector<std::string> all_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(HEADWISE_CONFIGS))
    names.push_back(entry.path().stem().string());
  return names;
}

class CountedWeights : public testing::TestWithParam<std::string> {
 protected:
  const ModelDescription model_ = described(GetParam());
};

TEST_P(CountedWeights, AreAllOfThemOnOneDevice) {
  EXPECT_DOUBLE_EQ(weight_bytes(model_, {}),
                   2.0 * static_cast<double>(count_parameters(model_).all.total()));
}

// But for a convolution's, which is no product of matrices.
TEST_P(CountedWeights, AreThoseOfTheProjections) {
  for (const EqualLayers& group : model_.groups) {
    const Attention& attention = group.layer.attention;
    std::int64_t weights = 0;
    for (const Product& product : attention_projections(attention, model_.hidden, {}, {}))
      weights += product.n * product.k;
    if (const auto* linear = std::get_if<LinearAttention>(&attention))
      weights += linear->conv_channels() * linear->conv_kernel;
    EXPECT_EQ(weights, attention_parameters(attention, model_.hidden));
  }
}

INSTANTIATE_TEST_SUITE_P(Published, CountedWeights, testing::ValuesIn(all_models()),
                         [](const auto& model) {
                           std::string name = model.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

// What is exchanged of routed experts that work on a latent is as wide as it is; shared experts,
// which do not, are summed apart.
TEST(Exchanges, OfExpertsOnALatentAreAsWideAsIt) {
  const ModelDescription kimi = described("kimi-k3");
  const LayerDescription& layer = kimi.groups[1].layer;
  const Deployment heads{.tp = 8, .tp_ff = 8, .ep = 8};
  const Step step{.batch = 1, .tokens = {.prefix = 0, .count = 64}};
  std::vector<double> sums;
  for (const Exchange& exchange :
       layer_exchanges(layer, kimi.hidden, heads, step, step_passes(heads, step).rows))
    if (exchange.kind == Exchange::Kind::all_reduce) sums.push_back(exchange.bytes);
  // Of attention, of shared experts, of routed ones.
  EXPECT_EQ(sums, (std::vector<double>{2.0 * 64 * 7168, 2.0 * 64 * 7168, 2.0 * 64 * 3584}));
}

}  // namespace
}  // namespace headwise
