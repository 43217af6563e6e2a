#include "advisor/advice/judge.h"
#include "advisor/model/model_work.h"
#include "core/check.h"

namespace headwise {
namespace {

/// The largest group that is recommended: Llama 3.1 405B's, Qwen3 235B's and Qwen3.5 397B's. What
/// larger ones cost in quality no widely used model shows.
constexpr std::int64_t kLargestGroup = 16;

constexpr const char* kTrainAgain =
    "training again, or further from the mean of each group's K and V (arXiv 2305.13245); fewer "
    "KV heads hold less, so compare quality and retrieval at the longest context";

std::string beside_ridge(const Judge& judge, double intensity) {
  const std::optional<double> ridge = judge.ridge();
  if (!ridge) return concat(short_number(intensity), " FLOP a byte");
  return concat(short_number(intensity), " FLOP a byte, where ", judge.hardware().title, " does ",
                short_number(*ridge));
}

double bytes_of(DType type) { return static_cast<double>(size_of(type)); }

Guideline of_softmax(const Judge& judge, const SoftmaxAttention& softmax) {
  const std::int64_t group = softmax.q_heads / softmax.kv_heads;
  const double intensity =
      2.0 * static_cast<double>(group) / bytes_of(judge.served().deployment.kv_type);
  Guideline guideline{
      .name = "group size",
      .reason = concat("decode reads each of ", softmax.kv_heads, " KV heads once for a group of ",
                       group, " query heads, ", beside_ridge(judge, intensity),
                       "; prefill hardly cares, since it reads keys once for many queries"),
      .check = "nothing to change; that kernels read a KV head once for its whole group"};
  std::vector<Candidate> candidates;
  for (std::int64_t larger = 2 * group; larger <= kLargestGroup && candidates.empty();
       larger += group)
    if (auto found = judge.candidate(concat("group size ", group, " -> ", larger),
                                     count_variation(Parameter::group_size, larger), kTrainAgain))
      candidates.push_back(std::move(*found));
  conclude(guideline, candidates, "decode");
  return guideline;
}

/// All heads share the one stored row, whatever a config.json calls KV heads.
Guideline of_latent(const Judge& judge, const LatentAttention& latent) {
  const double intensity =
      2.0 * static_cast<double>(latent.q_heads) *
      static_cast<double>(latent.stored_dim() + latent.kv_lora_rank) /
      (static_cast<double>(latent.stored_dim()) * bytes_of(judge.served().deployment.kv_type));
  Guideline guideline{
      .name = "group size",
      .reason = concat("MLA's decode reads one row of ", latent.stored_dim(), " for all ",
                       latent.q_heads, " query heads, ", beside_ridge(judge, intensity)),
      .check = "nothing to change; that decode runs absorbed, or it reads keys of all heads"};
  conclude(guideline, {}, "decode");
  return guideline;
}

}  // namespace

Guideline judge_group_size(const Judge& judge) {
  const Attention& attention = heaviest_attention(judge.served().model).layer.attention;
  if (const auto* softmax = std::get_if<SoftmaxAttention>(&attention))
    return of_softmax(judge, *softmax);
  if (const auto* latent = std::get_if<LatentAttention>(&attention))
    return of_latent(judge, *latent);
  return {.name = "group size", .reason = "no layer keeps keys", .check = "nothing"};
}

}  // namespace headwise
