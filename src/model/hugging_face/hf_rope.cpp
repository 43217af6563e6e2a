#include "model/hugging_face/hf_rope.h"

#include <array>
#include <cmath>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/model_limits.h"
#include "model/rope_frequencies.h"

namespace headwise {
namespace {

constexpr double kLeastBase = 1.0 + 1e-6;

void check_whole_head(JsonFields& fields) {
  const double rotated = fields.number_or("partial_rotary_factor", 0.0, 1.0);
  check(rotated == 1.0, "field ", fields.full("partial_rotary_factor"), " is ", rotated,
        ": only whole heads are turned");
}

RopeConfig read_llama3(JsonFields& fields, double base, const ModelConfig& config) {
  const Llama3Scaling scaling{
      .factor = fields.number("factor", 1.0),
      .low_frequency_factor = fields.number("low_freq_factor", 1e-6),
      .high_frequency_factor = fields.number("high_freq_factor", 1e-6),
      .original_context = static_cast<double>(
          fields.count_or("original_max_position_embeddings", kLargestCount, config.context))};
  check(scaling.high_frequency_factor > scaling.low_frequency_factor, "field ",
        fields.full("high_freq_factor"), " is not above low_freq_factor");
  return llama3_rope(base, config.head_dim, scaling);
}

RopeConfig read_yarn(JsonFields& fields, double base, const ModelConfig& config) {
  YarnScaling scaling{.factor = fields.number("factor", 1.0)};
  scaling.original_context =
      fields.count_or("original_max_position_embeddings", kLargestCount, config.context);
  scaling.beta_fast = fields.number_or("beta_fast", 1e-6, scaling.beta_fast);
  scaling.beta_slow = fields.number_or("beta_slow", 1e-6, scaling.beta_slow);
  scaling.whole_pairs = fields.boolean_or("truncate", true);
  if (fields.has("attention_factor")) scaling.magnitude = fields.number("attention_factor", 1e-6);
  return yarn_rope(base, config.head_dim, scaling);
}

/// What older files call rope_scaling, newer ones, which add the base, rope_parameters.
RopeConfig read_rope(JsonFields fields, double base, const ModelConfig& config) {
  base = fields.number_or("rope_theta", kLeastBase, base);
  check_whole_head(fields);
  const std::string old_spelling = fields.string_or("type", "default");
  const std::string type = fields.string_or("rope_type", old_spelling);
  check(!fields.has("type") || old_spelling == type, "field ", fields.full("type"),
        " is not the same as rope_type");
  RopeConfig rope;
  if (type == "linear") {
    rope = linear_rope(base, config.head_dim, fields.number("factor", 1.0));
  } else if (type == "llama3") {
    rope = read_llama3(fields, base, config);
  } else if (type == "yarn") {
    rope = read_yarn(fields, base, config);
  } else {
    check(type == "default", "field ", fields.full("rope_type"), " is ", quoted_name(type),
          ": default, linear, llama3 and yarn are supported");
    rope = plain_rope(base, config.head_dim);
  }
  constexpr std::array<std::string_view, 1> kHarmless{"finetuned"};
  fields.refuse_others(kHarmless);
  return rope;
}

}  // namespace

HfRopes read_hf_ropes(JsonFields& fields, const ModelConfig& config) {
  const bool is_gemma3 = config.architecture == "gemma3";
  check_whole_head(fields);
  check(!fields.has("rope_parameters") || !fields.has("rope_scaling"),
        "fields 'rope_parameters' and 'rope_scaling' exclude one another");
  double base = fields.number_or("rope_theta", kLeastBase, is_gemma3 ? 1e6 : 1e4);
  const double local_base =
      is_gemma3 ? fields.number_or("rope_local_base_freq", kLeastBase, 1e4) : base;

  HfRopes ropes{.full = plain_rope(base, config.head_dim),
                .windowed = plain_rope(local_base, config.head_dim)};
  if (fields.has("rope_scaling")) {
    ropes.full = read_rope(fields.object("rope_scaling"), base, config);
    if (!is_gemma3) ropes.windowed = ropes.full;
  } else if (fields.has("rope_parameters")) {
    JsonFields both = fields.object("rope_parameters");
    const bool has_full = both.has("full_attention");
    const bool has_windowed = both.has("sliding_attention");
    if (has_full) ropes.full = read_rope(both.object("full_attention"), base, config);
    if (has_windowed) {
      ropes.windowed = read_rope(both.object("sliding_attention"), local_base, config);
    }
    if (has_full || has_windowed) {
      both.refuse_others();
      return ropes;
    }
    check(!is_gemma3, "field 'rope_parameters.full_attention' is missing");
    ropes.full = read_rope(fields.object("rope_parameters"), base, config);
    ropes.windowed = ropes.full;
  }
  return ropes;
}

}  // namespace headwise
