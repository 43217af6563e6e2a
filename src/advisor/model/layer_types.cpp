#include "advisor/model/layer_types.h"

#include <algorithm>
#include <array>
#include <string>

#include "advisor/model/description_limits.h"
#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

using Types = std::vector<LayerType>;

/// `rule` of each layer's number from 0 up.
template <class Rule>
Types by_rule(int layers, const Rule& rule) {
  Types types;
  for (int layer = 0; layer < layers; ++layer) types.push_back(rule(layer));
  return types;
}

Types but_every(int layers, int interval, LayerType usual) {
  return by_rule(layers,
                 [&](int layer) { return (layer + 1) % interval == 0 ? LayerType::full : usual; });
}

LayerType named_type(const std::string& name) {
  if (name == "full_attention") return LayerType::full;
  if (name == "sliding_attention") return LayerType::windowed;
  if (name == "chunked_attention") return LayerType::chunked;
  check(name == "linear_attention", "field 'layer_types' holds ", quoted_name(name),
        ": full_attention, sliding_attention, chunked_attention and linear_attention are known");
  return LayerType::linear;
}

Types listed_types(ModelFields& fields, int layers) {
  const std::vector<std::string> names = fields.strings("layer_types", kMostDescribedLayers);
  check(std::ssize(names) == layers, "field 'layer_types' has ", names.size(), " values for ",
        layers, " layers");
  Types types;
  for (const std::string& name : names) types.push_back(named_type(name));
  return types;
}

void assume_types(ModelFields& fields, std::string value, const ConfigFamily& family) {
  fields.assume("layer_types", std::move(value),
                concat("the rule of ", family.model_type, " models"));
}

/// A window without a list of the layers that have it says nothing, unless it goes unused.
Types full_types(ModelFields& fields, const ConfigFamily& family, int layers) {
  fields.has("max_window_layers");
  const bool unused =
      !fields.boolean_or("use_sliding_window", true) && fields.has("sliding_window");
  if (unused) return Types(static_cast<std::size_t>(layers), LayerType::full);
  for (const auto* name : {"sliding_window", "attention_chunk_size", "linear_num_value_heads"})
    check(!fields.has(name), "field ", fields.full(name),
          " is there, but no 'layer_types' says which layers have it");
  if (!family.is_known) {
    fields.assume("layer_types", "full_attention in all layers", "no field says otherwise");
  }
  return Types(static_cast<std::size_t>(layers), LayerType::full);
}

Types all_windowed_types(ModelFields& fields, const ConfigFamily& family, int layers) {
  const bool left_out = fields.is_left_out("sliding_window");
  const bool windowed = fields.has("sliding_window") || (left_out && family.window > 0);
  if (windowed) assume_types(fields, "sliding_attention in all layers", family);
  if (left_out && !windowed) {
    fields.assume("sliding_window", "null",
                  concat("transformers' default for ", family.model_type));
  }
  return Types(static_cast<std::size_t>(layers), windowed ? LayerType::windowed : LayerType::full);
}

Types windowed_from_types(ModelFields& fields, const ConfigFamily& family, int layers) {
  const bool has_window = fields.has("sliding_window");
  const bool has_first = fields.has("max_window_layers");
  if (!fields.has("use_sliding_window")) {
    fields.assume("use_sliding_window", "false",
                  concat("transformers' default for ", family.model_type));
  }
  if (!fields.boolean_or("use_sliding_window", false)) {
    return Types(static_cast<std::size_t>(layers), LayerType::full);
  }
  check(has_window, "field 'sliding_window' is missing, where 'use_sliding_window' is true");
  check(has_first, "field 'max_window_layers' is missing, where 'use_sliding_window' is true");
  const int first = fields.integer("max_window_layers", 0, kMostDescribedLayers);
  return by_rule(layers,
                 [&](int layer) { return layer >= first ? LayerType::windowed : LayerType::full; });
}

Types gemma3_types(ModelFields& fields, const ConfigFamily& family, int layers) {
  const std::optional<int> written = fields.count_by_any(
      {"sliding_window_pattern", "_sliding_window_pattern"}, 1, kMostDescribedLayers);
  constexpr int kUsual = 6;
  if (!written) assume_types(fields, "sliding_attention, each sixth full_attention", family);
  return but_every(layers, written.value_or(kUsual), LayerType::windowed);
}

Types llama4_types(ModelFields& fields, int layers) {
  constexpr auto kList = "no_rope_layers";
  const std::vector<int> rotary =
      fields.has(kList) ? fields.integers(kList, 0, 1) : std::vector<int>{};
  fields.has("no_rope_layer_interval");
  if (!fields.has("attention_chunk_size")) {
    check(!fields.is_left_out("attention_chunk_size"), "field 'attention_chunk_size' is missing");
    return Types(static_cast<std::size_t>(layers), LayerType::full);
  }
  if (rotary.empty()) {
    const int interval =
        fields.count_or_assume("no_rope_layer_interval", kMostDescribedLayers, 4,
                               "transformers' default: each fourth layer has full attention");
    return but_every(layers, interval, LayerType::chunked);
  }
  check(std::ssize(rotary) == layers, "field 'no_rope_layers' has ", rotary.size(), " values for ",
        layers, " layers");
  return by_rule(layers, [&](int layer) {  // 1 says, whatever the name, that it has positions
    return rotary[static_cast<std::size_t>(layer)] == 1 ? LayerType::chunked : LayerType::full;
  });
}

Types types_by_pattern(ModelFields& fields, const ConfigFamily& family, int layers) {
  switch (family.pattern) {
    case LayerPattern::all_windowed:
      return all_windowed_types(fields, family, layers);
    case LayerPattern::windowed_from:
      return windowed_from_types(fields, family, layers);
    case LayerPattern::alternating:
      assume_types(fields, "sliding_attention and full_attention by turns", family);
      return by_rule(
          layers, [](int layer) { return layer % 2 == 0 ? LayerType::windowed : LayerType::full; });
    case LayerPattern::windowed_but_every:
      return gemma3_types(fields, family, layers);
    case LayerPattern::linear_but_every:
      return but_every(layers,
                       fields.count_or_assume("full_attention_interval", kMostDescribedLayers, 4,
                                              "transformers' default for hybrid Qwen models"),
                       LayerType::linear);
    case LayerPattern::chunked_but_nope:
      return llama4_types(fields, layers);
    case LayerPattern::full:
    case LayerPattern::latent:
    case LayerPattern::listed_linear:
      break;
  }
  return full_types(fields, family, layers);
}

}  // namespace

std::vector<LayerType> read_layer_types(ModelFields& fields, const ConfigFamily& family,
                                        int layers) {
  const bool listed = fields.has("layer_types");
  Types types = listed ? listed_types(fields, layers) : types_by_pattern(fields, family, layers);
  if (family.last_is_full && types.back() != LayerType::full) {
    assume_types(fields, "full_attention in the last layer", family);
    types.back() = LayerType::full;
  }
  // What a list makes needless may stand beside it.
  for (const auto* name : {"max_window_layers", "sliding_window_pattern", "_sliding_window_pattern",
                           "full_attention_interval", "no_rope_layers", "no_rope_layer_interval",
                           "sliding_window", "attention_chunk_size"})
    if (listed) fields.has(name);
  const bool allowed = fields.boolean_or("use_sliding_window", true);
  check(allowed || std::ranges::count(types, LayerType::windowed) == 0,
        "field 'use_sliding_window' is false, but 'layer_types' has sliding_attention");
  return types;
}

}  // namespace headwise
