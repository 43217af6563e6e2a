#include <algorithm>
#include <utility>

#include "advisor/report/codesign_json.h"
#include "core/check.h"

namespace headwise {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const AttentionSpan& span) {
  switch (span.kind) {
    case SpanKind::sliding_window:
      return concat("window ", span.tokens);
    case SpanKind::chunked:
      return concat("chunk ", span.tokens);
    case SpanKind::full:
      break;
  }
  return "full";
}

Json attention_json(const SoftmaxAttention& softmax) {
  const char* kind = softmax.kv_heads == softmax.q_heads ? "MHA"
                     : softmax.kv_heads == 1             ? "MQA"
                                                         : "GQA";
  return {{"kind", kind},
          {"span", text_of(softmax.span)},
          {"q_heads", softmax.q_heads},
          {"kv_heads", softmax.kv_heads},
          {"group_size", softmax.q_heads / softmax.kv_heads},
          {"head_dim_qk", softmax.head_dim_qk},
          {"head_dim_v", softmax.head_dim_v}};
}

Json attention_json(const LatentAttention& latent) {
  return {{"kind", "MLA"},
          {"span", latent.indexer ? concat("best ", latent.indexer->top_k) : "full"},
          {"q_heads", latent.q_heads},
          {"kv_heads", 1},
          {"group_size", latent.q_heads},
          {"head_dim_qk", latent.head_dim_qk()},
          {"head_dim_v", latent.v_head_dim},
          {"stored_dim", latent.stored_dim()}};
}

Json attention_json(const LinearAttention& linear) {
  return {{"kind", "linear"},
          {"span", "full"},
          {"q_heads", linear.k_heads},
          {"kv_heads", linear.v_heads},
          {"group_size", nullptr},
          {"head_dim_qk", linear.k_head_dim},
          {"head_dim_v", linear.v_head_dim}};
}

Json feed_forward_json(const DenseFeedForward& dense) {
  return {{"kind", "dense"},
          {"width", dense.width},
          {"experts", nullptr},
          {"top_k", nullptr},
          {"shared_experts", nullptr}};
}

Json feed_forward_json(const MixtureOfExperts& moe) {
  return {{"kind", "experts"},
          {"width", moe.expert_width},
          {"experts", moe.experts},
          {"top_k", moe.top_k},
          {"shared_experts", moe.shared_experts}};
}

/// One entry for each that differs, with the layers that have it.
template <class Part, class Write>
Json by_kind(const ModelDescription& model, Part part, Write write) {
  Json list = Json::array();
  std::vector<std::pair<Json, std::int64_t>> kinds;
  for (const EqualLayers& group : model.groups) {
    Json json = std::visit(write, part(group.layer));
    const auto found =
        std::ranges::find_if(kinds, [&](const auto& kind) { return kind.first == json; });
    if (found != kinds.end())
      found->second += group.count;
    else
      kinds.emplace_back(std::move(json), group.count);
  }
  for (const auto& [kind, layers] : kinds) {
    Json entry{{"layers", layers}};
    entry.update(kind);
    list.push_back(std::move(entry));
  }
  return list;
}

void add(Json& figures, const char* name, const char* unit, const std::optional<Figure>& figure) {
  if (!figure) return;
  figures.push_back({{"name", name},
                     {"value", figure->value},
                     {"unit", unit},
                     {"source", name_of(figure->source)},
                     {"origin", figure->origin}});
}

}  // namespace

Json to_json(const ModelDescription& model) {
  const ModelParameters parameters = count_parameters(model);
  Json json{{"model_type", model.model_type},
            {"layers", model.layers()},
            {"hidden", model.hidden},
            {"vocab", model.vocab},
            {"context", model.context},
            {"parameters", parameters.all.total()},
            {"active_parameters", parameters.active.total()}};
  json["attention"] = by_kind(
      model, [](const LayerDescription& layer) { return layer.attention; },
      [](const auto& kind) { return attention_json(kind); });
  json["feed_forward"] = by_kind(
      model, [](const LayerDescription& layer) { return layer.feed_forward; },
      [](const auto& kind) { return feed_forward_json(kind); });
  json["assumptions"] = Json::array();
  for (const Assumption& assumption : model.assumptions)
    json["assumptions"].push_back(
        {{"field", assumption.field}, {"value", assumption.value}, {"why", assumption.why}});
  return json;
}

Json to_json(const Hardware& hardware) {
  Json figures = Json::array();
  add(figures, "memory bandwidth", "B/s", hardware.memory_bytes_per_s);
  add(figures, "memory", "B", hardware.memory_bytes);
  add(figures, "bf16", "FLOP/s", hardware.bf16_flops);
  add(figures, "fp8", "FLOP/s", hardware.fp8_flops);
  add(figures, "fp4", "FLOP/s", hardware.fp4_flops);
  add(figures, "link", "B/s", hardware.link_bytes_per_s);
  add(figures, "exponentials", "1/s", hardware.exp_per_s);
  return {{"name", hardware.name},
          {"title", hardware.title},
          {"kind", hardware.kind == Hardware::Kind::gpu ? "gpu" : "cpu"},
          {"file", hardware.file.string()},
          {"figures", std::move(figures)}};
}

}  // namespace headwise
