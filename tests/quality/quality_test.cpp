// Do the checks see what they are made to see? They judge a model that says what it is told to.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "headwise/error.h"
#include "tests/quality/checks.h"

namespace headwise::quality {
namespace {

constexpr std::size_t kVocab = 4;

/// Logits by the last token of the text.
class TableModel final : public JudgedModel {
 public:
  std::vector<std::vector<float>> logits;  // [token][vocab]
  Maths how = Maths::f32;

  Maths maths() const override { return how; }
  void begin() override {}
  std::span<const float> last_logits(std::span<const TokenId> tokens) override {
    return logits[static_cast<std::size_t>(tokens.back())];
  }
  void each_logits(std::span<const TokenId> tokens,
                   const std::function<void(std::span<const float>)>& row) override {
    for (const TokenId token : tokens) row(logits[static_cast<std::size_t>(token)]);
  }
  std::vector<TokenId> encode(std::string_view text) const override {
    return {text.begin(), text.end()};
  }
};

/// Each token's next is the one behind it, which leads by 2.
TableModel counting_model() {
  TableModel model;
  for (std::size_t token = 0; token < kVocab; ++token) {
    std::vector<float>& row = model.logits.emplace_back(kVocab, 0.0F);
    row[(token + 1) % kVocab] = 2.0F;
  }
  return model;
}

std::vector<double> probabilities(const std::vector<float>& logits) {
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit);
  std::vector<double> p;
  for (const float logit : logits) p.push_back(std::exp(logit) / sum);
  return p;
}

Golden golden_of(const TableModel& model) {
  Golden golden{.name = "table", .model_file = "", .bos = {}, .continuations = {}};
  golden.continuations.push_back(
      {.prompt = {0, 1}, .greedy = {2, 3, 0}, .top_logits = {{2.0, 0.0}, {2.0, 1.95}, {2.0, 0.0}}});
  for (const TokenId token : golden.continuations.front().prompt) {
    const std::vector<double> p = probabilities(model.logits[static_cast<std::size_t>(token)]);
    golden.distributions.push_back(
        {.ids = {0, 1}, .probabilities = {p[0], p[1]}, .rest = p[2] + p[3]});
  }
  const std::vector<TokenId> window = {0, 1, 2};
  const double p = probabilities(model.logits[0])[1];
  golden.perplexities.push_back(
      {.length = 3, .nll = {-2 * std::log(p)}, .text_hashes = {fnv1a(window)}});
  return golden;
}

const std::string kText("\0\1\2", 3);

TEST(Quality, TheSameModelPasses) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  EXPECT_TRUE(check_continuations(model, golden, 2).front().passed);
  EXPECT_TRUE(check_distributions(model, golden, {}).passed);
  EXPECT_TRUE(check_perplexity(model, golden, kText, 3, 0).passed);
}

TEST(Quality, LongerPromptsAreLeftOut) {
  TableModel model = counting_model();
  EXPECT_TRUE(check_continuations(model, golden_of(model), 1).empty());
}

TEST(Quality, AnotherTokenPassesInBf16AloneAndOnlyWhereTheReferenceHardlyDecides) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  model.logits[2] = {0.0F, 5.0F, 0.0F, 0.0F};  // the reference led by 0.05 there
  EXPECT_FALSE(check_continuations(model, golden, 2).front().passed);
  model.how = Maths::bf16;
  EXPECT_TRUE(check_continuations(model, golden, 2).front().passed);
  model.logits[1] = model.logits[2];  // by 2
  EXPECT_FALSE(check_continuations(model, golden, 2).front().passed);
}

TEST(Quality, OtherDistributionsFail) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  model.logits[0][0] += 0.03F;  // KL 4e-5 behind one of two tokens
  EXPECT_FALSE(check_distributions(model, golden, {}).passed);
  model.how = Maths::bf16;
  EXPECT_TRUE(check_distributions(model, golden, {}).passed);
  model.logits[0][0] += 0.5F;
  EXPECT_FALSE(check_distributions(model, golden, {}).passed);
}

TEST(Quality, WholeRowsSeeWhatTheLikeliestTokensDoNot) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  const std::filesystem::path rows = std::filesystem::path(testing::TempDir()) / "quality_rows.f32";
  std::ofstream file(rows, std::ios::binary);
  for (const std::size_t token : {0U, 1U})
    for (const double p : probabilities(model.logits[token])) {
      const auto log_p = static_cast<float>(std::log(p));
      file.write(reinterpret_cast<const char*>(&log_p), sizeof(log_p));
    }
  file.close();
  EXPECT_TRUE(check_distributions(model, golden, rows).passed);
  std::swap(model.logits[1][2], model.logits[1][3]);  // both among "all others"
  EXPECT_TRUE(check_distributions(model, golden, {}).passed);
  EXPECT_FALSE(check_distributions(model, golden, rows).passed);
  std::filesystem::remove(rows);
}

TEST(Quality, AnotherPerplexityFails) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  model.logits[0][1] += 0.01F;
  EXPECT_TRUE(check_perplexity(model, golden, kText, 3, 1).passed);
  model.logits[0][1] += 0.1F;
  EXPECT_FALSE(check_perplexity(model, golden, kText, 3, 1).passed);
}

TEST(Quality, AnotherTextIsNotJudged) {
  TableModel model = counting_model();
  const Golden golden = golden_of(model);
  EXPECT_THROW(check_perplexity(model, golden, std::string("\0\1\1", 3), 3, 1), Error);
  EXPECT_THROW(check_perplexity(model, golden, kText, 4, 1), Error);
  EXPECT_THROW(check_perplexity(model, golden, kText, 3, 2), Error);
}

TEST(Quality, HashesAreFnv1a) {  // published vectors: "" and "foob"
  EXPECT_EQ(fnv1a({}), "cbf29ce484222325");
  const std::vector<TokenId> foob = {0x626f6f66};
  EXPECT_EQ(fnv1a(foob), "dd120e790c2512af");
}

}  // namespace
}  // namespace headwise::quality
