#include "advisor/model/model_fields.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace headwise {
namespace {

// What names of fields hold that tell of attention, layers or feed-forward.
constexpr std::array<std::string_view, 30> kTelling{
    "attention", "attn",    "head",  "window",       "expert",  "moe",    "layer", "lora",
    "linear",    "mamba",   "mla_",  "ssm",          "chunk",   "sparse", "conv",  "hybrid",
    "rank",      "pattern", "mlp",   "intermediate", "latent",  "nope",   "ffn",   "kv",
    "recurrent", "period",  "state", "block",        "pruned_", "index_"};

// Those of them that change neither a shape nor a count of large matrices.
constexpr std::array<std::string_view, 36> kHarmless{"_attn_implementation",
                                                     "_attn_implementation_autoset",
                                                     "activation_situ_linear_beta",
                                                     "attention_bias",
                                                     "attention_dropout",
                                                     "attention_multiplier",
                                                     "attn_implementation",
                                                     "attn_logit_softcapping",
                                                     "attn_pdrop",
                                                     "attn_scale",
                                                     "attn_temperature_tuning",
                                                     "boi_token_index",
                                                     "chunk_size_feed_forward",
                                                     "cross_attention_hidden_size",
                                                     "eoi_token_index",
                                                     "image_token_index",
                                                     "initial_context_length",
                                                     "kv_cache_scheme",
                                                     "latent_moe_use_norm",
                                                     "layer_norm_eps",
                                                     "layer_norm_epsilon",
                                                     "layernorm_epsilon",
                                                     "mamba_ssm_dtype",
                                                     "mla_use_nope",
                                                     "mlp_bias",
                                                     "moe_renormalize",
                                                     "moe_router_activation_func",
                                                     "num_expert_group",
                                                     "output_attentions",
                                                     "output_hidden_states",
                                                     "partial_rotary_factor",
                                                     "pretraining_tp",
                                                     "pruned_heads",
                                                     "query_pre_attn_scalar",
                                                     "rope_interleaved",
                                                     "use_qk_norm"};

bool could_matter(std::string_view name, const nlohmann::json& value) {
  if (value.is_boolean() && !value.get<bool>()) return false;
  if (std::ranges::find(kHarmless, name) != kHarmless.end()) return false;
  return std::ranges::any_of(
      kTelling, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

ModelFields ModelFields::nested(const std::string& name) {
  return {value(name), name + ".", *assumptions_};
}

void ModelFields::assume(std::string field, std::string value, std::string why) {
  assumptions_->push_back({std::move(field), std::move(value), std::move(why)});
}

int ModelFields::count_or_assume(const std::string& name, int most, int otherwise,
                                 std::string_view why) {
  if (has(name)) return count(name, most);
  check(otherwise <= most, "field ", full(name), " is missing, and ", otherwise,
        ", its value otherwise, is out of range");
  assume(name, std::to_string(otherwise), std::string(why));
  return otherwise;
}

std::optional<int> ModelFields::count_by_any(std::initializer_list<const char*> names, int least,
                                             int most) {
  std::optional<int> found;
  std::string first;
  for (const std::string name : names) {
    if (!has(name)) continue;
    const int value = integer(name, least, most);
    check(!found || *found == value, "field ", full(name), " is ", value, " where ", full(first),
          " is ", found.value_or(0));
    if (!found) first = name;
    found = value;
  }
  return found;
}

bool ModelFields::is_left_out(const std::string& name) const {
  return object_->find(name) == object_->end();
}

std::vector<int> ModelFields::integers(const std::string& name, int least, int most) {
  const nlohmann::json& found = value(name);
  check(found.is_array(), "field ", full(name), " is not an array of integers");
  std::vector<int> integers;
  for (const nlohmann::json& each : found) {
    check(each.is_number_unsigned(), "field ", full(name),
          " holds something other than integers from 0 up");
    const auto number = each.get<std::uint64_t>();
    check(number >= static_cast<std::uint64_t>(least) && number <= static_cast<std::uint64_t>(most),
          "field ", full(name), " holds ", number, ", which is not from ", least, " to ", most);
    integers.push_back(static_cast<int>(number));
  }
  return integers;
}

void ModelFields::refuse_what_could_matter() const {
  std::vector<std::string_view> harmless;
  for (const auto& [name, value] : object_->items()) {
    if (!could_matter(name, value)) harmless.push_back(name);
  }
  refuse_others(harmless);
}

}  // namespace headwise
