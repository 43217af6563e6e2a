#include "advisor/advice/what_if.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "advisor/model/model_layers.h"
#include "advisor/model/model_validity.h"
#include "core/check.h"

namespace headwise {
namespace {

using Layers = std::vector<LayerDescription>;

bool is_full(const SoftmaxAttention& softmax) { return softmax.span.kind == SpanKind::full; }

/// Changes each layer of this kind of attention by `change`, which says why it cannot.
template <class Kind, class Change>
std::string change_each(Layers& layers, const char* why_none, const Change& change) {
  bool has_any = false;
  for (LayerDescription& layer : layers) {
    auto* attention = std::get_if<Kind>(&layer.attention);
    if (attention == nullptr) continue;
    has_any = true;
    if (std::string why = change(*attention); !why.empty()) return why;
  }
  return has_any ? std::string() : why_none;
}

constexpr const char* kNoKvHeads = "no layer has KV heads";

std::string set_kv_heads(Layers& layers, std::int64_t kv_heads) {
  return change_each<SoftmaxAttention>(layers, kNoKvHeads, [&](SoftmaxAttention& softmax) {
    softmax.kv_heads = kv_heads;
    return std::string();
  });
}

std::string set_group_size(Layers& layers, std::int64_t group) {
  return change_each<SoftmaxAttention>(layers, kNoKvHeads, [&](SoftmaxAttention& softmax) {
    if (softmax.q_heads % group != 0)
      return concat("q_heads ", softmax.q_heads, " is no multiple of group_size ", group);
    softmax.kv_heads = softmax.q_heads / group;
    return std::string();
  });
}

std::string set_head_dim(Layers& layers, std::int64_t dim) {
  return change_each<SoftmaxAttention>(layers, kNoKvHeads, [&](SoftmaxAttention& softmax) {
    const std::int64_t from = softmax.head_dim_qk;
    const bool is_one = softmax.kv_heads == 1 && dim > from;  // which then grows
    if ((softmax.kv_heads * from % dim != 0 && !is_one) || softmax.head_dim_v * dim % from != 0)
      return concat("kv_heads ", softmax.kv_heads, " of ", from, " make no whole heads of ", dim);
    if (softmax.q_heads * from % dim != 0)
      return concat("q_heads ", softmax.q_heads, " of ", from, " make no whole heads of ", dim);
    softmax.kv_heads = is_one ? 1 : softmax.kv_heads * from / dim;
    softmax.q_heads = softmax.q_heads * from / dim;
    softmax.head_dim_v = softmax.head_dim_v * dim / from;
    softmax.head_dim_qk = dim;
    return std::string();
  });
}

std::string set_window(Layers& layers, std::int64_t tokens) {
  const bool has_windows = std::ranges::any_of(layers, [](const LayerDescription& layer) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&layer.attention);
    return softmax != nullptr && !is_full(*softmax);
  });
  return change_each<SoftmaxAttention>(layers, "no layer could have a window",
                                       [&](SoftmaxAttention& softmax) {
                                         if (has_windows && is_full(softmax)) return std::string();
                                         if (is_full(softmax))
                                           softmax.span.kind = SpanKind::sliding_window;
                                         softmax.span.tokens = tokens;
                                         if (tokens == 0) softmax.span = {};
                                         return std::string();
                                       });
}

std::string set_rank(Layers& layers, std::int64_t rank) {
  return change_each<LatentAttention>(layers, "no layer has MLA", [&](LatentAttention& latent) {
    latent.kv_lora_rank = rank;
    return std::string();
  });
}

/// The attention of the first layer of which `is_wanted` is true.
template <class Wanted>
std::optional<Attention> first_attention(const Layers& layers, const Wanted& is_wanted) {
  const auto found = std::ranges::find_if(
      layers, [&](const LayerDescription& layer) { return is_wanted(layer.attention); });
  return found == layers.end() ? std::nullopt : std::optional(found->attention);
}

std::optional<Attention> full_attention(const Layers& layers) {
  std::optional<Attention> full = first_attention(layers, [](const Attention& attention) {
    return !std::holds_alternative<LinearAttention>(attention);
  });
  if (full)
    if (auto* softmax = std::get_if<SoftmaxAttention>(&*full)) softmax->span = {};
  return full;
}

/// Nothing if `full` is MLA, of which there are no windows.
std::optional<Attention> cheap_attention(const Layers& layers, const Attention& full) {
  if (auto linear = first_attention(layers, [](const Attention& attention) {
        return std::holds_alternative<LinearAttention>(attention);
      }))
    return linear;
  const auto* whole = std::get_if<SoftmaxAttention>(&full);
  if (whole == nullptr) return std::nullopt;
  if (auto windowed = first_attention(layers, [](const Attention& attention) {
        const auto* softmax = std::get_if<SoftmaxAttention>(&attention);
        return softmax != nullptr && !is_full(*softmax);
      }))
    return windowed;
  SoftmaxAttention windowed = *whole;
  windowed.span = {SpanKind::sliding_window, kUsualWindow};
  return windowed;
}

std::string set_full_every(Layers& layers, std::int64_t every) {
  if (every > std::ssize(layers))
    return concat("full_every ", every, " leaves none of ", layers.size(), " layers full");
  const std::optional<Attention> full = full_attention(layers);
  if (!full) return "no layer attends to all tokens";
  const std::optional<Attention> cheap = cheap_attention(layers, *full);
  if (!cheap) return "MLA has no window, and no layer is linear";
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].attention = (static_cast<std::int64_t>(i) + 1) % every == 0 ? *full : *cheap;
  return {};
}

std::string change(Layers& layers, const Variation& variation) {
  switch (variation.parameter) {
    case Parameter::kv_heads:
      return set_kv_heads(layers, variation.count);
    case Parameter::group_size:
      return set_group_size(layers, variation.count);
    case Parameter::head_dim:
      return set_head_dim(layers, variation.count);
    case Parameter::window:
      return set_window(layers, variation.count);
    case Parameter::full_every:
      return set_full_every(layers, variation.count);
    case Parameter::mla_rank:
      return set_rank(layers, variation.count);
    case Parameter::kv_type:
      break;
  }
  return {};
}

}  // namespace

Variant what_if(const ModelDescription& model, const Deployment& deployment,
                const Variation& variation) {
  Variant variant{model, deployment, {}};
  if (variation.parameter == Parameter::kv_type) variant.deployment.kv_type = variation.type;
  Layers layers = layers_of(model);
  variant.why_not = change(layers, variation);
  if (!variant.why_not.empty()) return variant;
  set_layers(variant.model, layers);
  variant.why_not = why_invalid(variant.model);
  if (variant.why_not.empty()) variant.why_not = why_impossible(variant.model, variant.deployment);
  return variant;
}

bool is_same(const Variant& variant, const ModelDescription& model, const Deployment& deployment) {
  return variant.why_not.empty() && variant.deployment.kv_type == deployment.kv_type &&
         layers_of(variant.model) == layers_of(model);
}

}  // namespace headwise
