#include "advisor/model/model_reader.h"

#include <algorithm>
#include <array>

#include "advisor/model/attention_reader.h"
#include "advisor/model/config_family.h"
#include "advisor/model/description_limits.h"
#include "advisor/model/feed_forward_reader.h"
#include "advisor/model/model_layers.h"
#include "advisor/model/model_validity.h"
#include "core/check.h"
#include "model/byte_reader.h"
#include "model/json/json_text.h"

namespace headwise {
namespace {

int read_count(ModelFields& fields, const char* name, int most, int otherwise) {
  if (otherwise == 0) return fields.count(name, most);
  return fields.count_or_assume(name, most, otherwise, "transformers' default for the family");
}

int read_context(ModelFields& fields, const ConfigFamily& family) {
  const bool usual = fields.has("max_position_embeddings");
  if (!usual && fields.has("model_max_length")) {
    return fields.count("model_max_length", kLargestContext);
  }
  return read_count(fields, "max_position_embeddings", kLargestContext, family.context);
}

/// Of a model for images the outer object has it.
bool read_tied(ModelFields& fields, ModelFields& outer, const ConfigFamily& family) {
  constexpr auto kName = "tie_word_embeddings";
  if (fields.has(kName)) return fields.boolean_or(kName, false);
  if (outer.has(kName)) return outer.boolean_or(kName, false);
  fields.assume(kName, family.tied_embeddings ? "true" : "false",
                family.is_known ? "transformers' default for the family" : "usual");
  return family.tied_embeddings;
}

/// Positions cost nothing here, but a kind that nobody knows may be more than positions.
void check_rope(ModelFields rope) {
  constexpr std::array<std::string_view, 9> kKnown{
      "default", "linear", "dynamic", "llama3", "yarn", "longrope", "su", "mrope", "proportional"};
  for (const auto* kind : {"full_attention", "sliding_attention"})
    if (rope.has(kind)) check_rope(rope.nested(kind));
  for (const auto* name : {"rope_type", "type"}) {
    const std::string type = rope.string_or(name, "default");
    check(std::ranges::find(kKnown, type) != kKnown.end(), "field ", rope.full(name), " is ",
          quoted_name(type), ", which is not known");
  }
}

/// Gemma 4's smaller models have what is not described: K and V that layers share, an embedding of
/// each layer's own.
void refuse_small_gemmas(ModelFields& fields, const ConfigFamily& family) {
  if (!family.per_layer_input) return;
  for (const auto* name : {"num_kv_shared_layers", "hidden_size_per_layer_input"}) {
    const bool missing = !fields.has(name);
    check(missing || fields.integer(name, 0, kLargestHidden) == 0, "field ", fields.full(name),
          " is not 0, which is not described");
  }
  check(fields.has("hidden_size_per_layer_input"), "field ",
        fields.full("hidden_size_per_layer_input"), " is missing");
  fields.has("vocab_size_per_layer_input");
  const std::string both_ways = fields.string_or("use_bidirectional_attention", "vision");
  check(both_ways == "vision", "field ", fields.full("use_bidirectional_attention"), " is ",
        quoted_name(both_ways), ": only decoders are described");
}

void note_what_is_left_out(ModelFields& fields, ModelFields& outer) {
  for (const auto* name : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    if (fields.has(name) && fields.integer(name, 0, kMostDescribedLayers) > 0) {
      fields.assume(name, "0", "layers that draft further tokens are not part of a step");
    }
  }
  if (fields.has("attn_res_block_size")) {
    fields.assume("attn_res_block_size", "left out",
                  "residuals over blocks of layers have no large matrices");
  }
  for (const auto* name : {"vision_config", "audio_config"}) {
    if (outer.has(name)) fields.assume(name, "left out", "the description is of the text model");
  }
}

void read_text(ModelFields& fields, ModelFields& outer, ModelDescription& model) {
  check(!fields.boolean_or("is_encoder_decoder", false),
        "field 'is_encoder_decoder' is true: only decoders are described");
  check(!fields.boolean_or("add_cross_attention", false),
        "field 'add_cross_attention' is true, which is not described");
  const std::string& type = model.model_type;
  const ConfigFamily family = config_family(type);
  if (!family.is_known) {
    fields.assume("model_type", "read by its fields", quoted_name(type) + " is not a known family");
  }
  const int layers = fields.count("num_hidden_layers", kMostDescribedLayers);
  const int hidden = fields.count("hidden_size", kLargestHidden);
  model.hidden = hidden;
  model.vocab = read_count(fields, "vocab_size", kLargestDescribedVocab, family.vocab);
  model.context = read_context(fields, family);
  model.tied_embeddings = read_tied(fields, outer, family);
  const std::vector<Attention> attention = read_attention(fields, family, layers, hidden);
  const std::vector<FeedForward> feed_forward = read_feed_forward(fields, family, layers);
  std::vector<LayerDescription> all;
  for (std::size_t i = 0; i < attention.size(); ++i)
    all.push_back({.attention = attention[i], .feed_forward = feed_forward[i]});
  set_layers(model, all);
  for (const auto* name : {"rope_scaling", "rope_parameters"})
    if (fields.has(name)) check_rope(fields.nested(name));
  refuse_small_gemmas(fields, family);
  note_what_is_left_out(fields, outer);
  fields.refuse_what_could_matter();
  const std::string why = why_invalid(model);
  check(why.empty(), why);
}

}  // namespace

ModelDescription read_model_description(std::string_view config_json) {
  const nlohmann::json document = parse_json(config_json);
  ModelDescription model;
  ModelFields outer(document, "", model.assumptions);
  if (!outer.has("text_config")) {
    model.model_type = outer.string("model_type");
    read_text(outer, outer, model);
    return model;
  }
  ModelFields text = outer.nested("text_config");
  model.model_type =
      text.has("model_type") ? text.string("model_type") : outer.string("model_type");
  read_text(text, outer, model);
  return model;
}

}  // namespace headwise
