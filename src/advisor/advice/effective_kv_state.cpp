#include "advisor/advice/judge.h"
#include "advisor/model/kv_state.h"
#include "core/check.h"

namespace headwise {
namespace {

/// One layer of four attends to all tokens in Qwen3-Next, Llama 4 and Kimi Linear.
constexpr std::int64_t kFullEvery = 4;

constexpr const char* kEightBits =
    "no training; outputs with K and V in 8 bits against bf16 at the longest context, and that "
    "the kernel reads them as they are";
constexpr const char* kHybrid =
    "training again; that evidence far behind the window is still found (retrieval at the longest "
    "context)";

/// A token of these layers attends to all before it.
struct IsFull {
  bool operator()(const SoftmaxAttention& softmax) const {
    return softmax.span.kind == SpanKind::full;
  }
  bool operator()(const LatentAttention& latent) const { return !latent.indexer; }
  bool operator()(const LinearAttention&) const { return false; }
};

std::int64_t full_layers(const ModelDescription& model) {
  std::int64_t full = 0;
  for (const EqualLayers& group : model.groups) {
    if (std::visit(IsFull{}, group.layer.attention)) full += group.count;
  }
  return full;
}

/// What a token's decode reads of one request: an indexer's picked tokens, all else that is kept.
double read_bytes(const ModelDescription& model, DType kv_type, std::int64_t context) {
  double bytes = 0.0;
  for (const EqualLayers& group : model.groups) {
    const CoreAttention core{.attention = group.layer.attention,
                             .form = LatentForm::absorbed,
                             .kv_type = kv_type,
                             .tokens = {.prefix = context - 1, .count = 1}};
    bytes += static_cast<double>(group.count) * core_attention_work(core).bytes;
  }
  return bytes;
}

}  // namespace

Guideline judge_kv_state(const Judge& judge) {
  const auto& [model, deployment, load] = judge.served();
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const std::int64_t context = judge.context();
  if (kv_state(model, DType::bf16).naive_per_token == 0)
    return {.name = "effective KV state", .reason = "no layer keeps tokens", .check = "nothing"};
  const double read = read_bytes(model, deployment.kv_type, context);
  const double naive = static_cast<double>(kv_state(model, DType::bf16).naive_per_token) *
                       static_cast<double>(context);
  const std::optional<double> share = judge.now().decode.attention_share();
  const std::int64_t full = full_layers(model);
  Guideline guideline{
      .name = "effective KV state",
      .reason = concat(
          "a token at ", short_size(context), " reads ", short_number(read / kGiB),
          " GiB of KV in ", name_of(deployment.kv_type), ", ", short_number(100.0 * read / naive),
          " % of all heads and layers in bf16: attention is ",
          share ? concat(short_number(100.0 * *share), " %") : std::string("some part"),
          " of what layers compute in decode; ", full, " of ", model.layers(),
          " layers attend to all tokens"),
      .check =
          "that evidence which the model leaves out, or rounds, is not missed at the longest "
          "context"};
  std::vector<Candidate> candidates;
  if (!is_8_bit(deployment.kv_type))
    if (auto found = judge.candidate(concat("KV ", name_of(deployment.kv_type), " -> f8e4m3"),
                                     type_variation(DType::f8e4m3), kEightBits))
      candidates.push_back(std::move(*found));
  if (full * kFullEvery > model.layers())
    if (auto found = judge.candidate(concat("full layers ", full, " -> every ", kFullEvery, "th"),
                                     count_variation(Parameter::full_every, kFullEvery), kHybrid))
      candidates.push_back(std::move(*found));
  conclude(guideline, candidates, "decode");
  return guideline;
}

}  // namespace headwise
