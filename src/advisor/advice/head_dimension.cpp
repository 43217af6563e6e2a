#include <algorithm>
#include <iterator>

#include "advisor/advice/judge.h"
#include "advisor/model/model_work.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kRecommended[] = {128, 256};

/// What attention kernels are compiled for (FlashAttention's instances); others are padded.
constexpr std::int64_t kTiles[] = {64, 96, 128, 192, 256};

/// A row that is shorter leaves part of what one access brings; one of 64 x bf16 is as long.
constexpr double kAccessBytes = 128.0;

/// Of a thread, in a warpgroup of 128 that holds sums of 64 rows in f32: one of two columns.
constexpr std::int64_t kColumnsARegister = 2;
constexpr std::int64_t kRegisters = 255;

constexpr const char* kTrainAgain =
    "training again: as wide as before with other heads; compare quality, since fewer heads "
    "attend to fewer places at once";

/// Products and exponentials of a pair of query and key.
std::string exponentials_text(const Judge& judge, std::int64_t dims) {
  const std::int64_t flops = 2 * dims;
  const Hardware& hardware = judge.hardware();
  if (!hardware.exp_per_s || !hardware.bf16_flops) return concat(flops, " FLOP an exponential");
  return concat(flops, " FLOP an exponential, where ", hardware.title, " does ",
                short_number(hardware.bf16_flops->value / hardware.exp_per_s->value),
                " in the time of one");
}

std::string tile_text(const Judge& judge, std::int64_t dim, std::int64_t dim_v) {
  const double row =
      static_cast<double>(dim) * static_cast<double>(size_of(judge.served().deployment.kv_type));
  std::string text =
      concat("; a stored row is ", short_number(row), " B",
             row < kAccessBytes ? concat(", less than the ", kAccessBytes, " B of an access")
                                : std::string());
  if (judge.hardware().kind == Hardware::Kind::gpu)
    text += concat(", 64 rows' sums take ", dim_v / kColumnsARegister, " of a thread's ",
                   kRegisters, " registers");
  return text;
}

/// 1: there are tiles of this very dimension, or none that are as large.
double padding_of(std::int64_t dim) {
  for (const std::int64_t tile : kTiles)
    if (tile >= dim) return static_cast<double>(tile) / static_cast<double>(dim);
  return 1.0;
}

/// The next larger recommended one; of a recommended one, the other.
std::int64_t other_dim(std::int64_t dim) {
  const auto [small, large] = kRecommended;
  return dim < small || dim == large ? small : large;
}

Guideline of_softmax(const Judge& judge, const SoftmaxAttention& softmax) {
  const std::int64_t dim = softmax.head_dim_qk;
  Guideline guideline{
      .name = "head dimension",
      .reason = concat("prefill does ", exponentials_text(judge, dim + softmax.head_dim_v),
                       tile_text(judge, dim, softmax.head_dim_v)),
      .check = "nothing to change; that the kernel in use has tiles of this dimension"};
  std::vector<Candidate> candidates;
  const std::int64_t other = other_dim(dim);
  if (auto found = judge.candidate(concat("head dimension ", dim, " -> ", other),
                                   count_variation(Parameter::head_dim, other), kTrainAgain))
    candidates.push_back(std::move(*found));
  conclude(guideline, candidates, "prefill");
  if (candidates.empty() && std::ranges::find(kRecommended, dim) == std::end(kRecommended)) {
    guideline.verdict = GuidelineVerdict::does_not_apply;
    guideline.reason += concat("; no model of the same width has heads of ", other);
  }
  const double padding = padding_of(dim);
  if (padding < kGainThatCounts || guideline.verdict != GuidelineVerdict::follows) return guideline;
  guideline.verdict = GuidelineVerdict::partly;
  guideline.reason += concat("; kernels pad it and do ", short_number(padding),
                             " times the products, which times of padded shapes would show");
  guideline.check = kTrainAgain;
  return guideline;
}

Guideline of_latent(const Judge& judge, const LatentAttention& latent) {
  Guideline guideline{
      .name = "head dimension",
      .reason = concat("MLA's prefill does ",
                       exponentials_text(judge, latent.head_dim_qk() + latent.v_head_dim),
                       tile_text(judge, latent.stored_dim(), latent.v_head_dim)),
      .check = "nothing to change; that the kernel in use is made for MLA"};
  conclude(guideline, {}, "prefill");
  return guideline;
}

}  // namespace

Guideline judge_head_dimension(const Judge& judge) {
  const Attention& attention = heaviest_attention(judge.served().model).layer.attention;
  if (const auto* softmax = std::get_if<SoftmaxAttention>(&attention))
    return of_softmax(judge, *softmax);
  if (const auto* latent = std::get_if<LatentAttention>(&attention))
    return of_latent(judge, *latent);
  return {.name = "head dimension", .reason = "no layer has scores", .check = "nothing"};
}

}  // namespace headwise
