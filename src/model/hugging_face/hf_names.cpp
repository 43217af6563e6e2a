#include "model/hugging_face/hf_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 3> kOuterNames{{
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
}};

constexpr std::array<NamePair, 13> kLayerNames{{
    {"input_layernorm.weight", "attn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
}};

constexpr std::array<NamePair, 1> kPlainNorms{
    {{"post_attention_layernorm.weight", "ffn_norm.weight"}}};

constexpr std::array<NamePair, 3> kGemma3Norms{{
    {"post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
}};

template <std::size_t count>
std::optional<std::string_view> find(const std::array<NamePair, count>& names,
                                     std::string_view name) {
  const auto* found = std::ranges::find(names, name, &NamePair::first);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

/// `name` without `prefix`, if that is what it begins with.
bool strip(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

/// "12.self_attn.q_proj.weight"
std::optional<std::string> layer_name(std::string_view name, bool is_gemma3) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view number = name.substr(0, digits);
  name.remove_prefix(digits);
  const bool canonical = digits == 1 || (digits > 1 && digits <= 5 && number.front() != '0');
  if (!canonical || !strip(name, ".")) return std::nullopt;
  if (name == "self_attn.rotary_emb.inv_freq") return "";
  auto found = find(kLayerNames, name);
  if (!found) found = is_gemma3 ? find(kGemma3Norms, name) : find(kPlainNorms, name);
  if (!found) return std::nullopt;
  return "blk." + std::string(number) + "." + std::string(*found);
}

}  // namespace

std::optional<std::string> gguf_name(std::string_view hf_name, std::string_view family) {
  const bool is_gemma3 = family == "gemma3";
  std::string name(hf_name);
  if (is_gemma3) {
    for (const auto* part : {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                             "model.multi_modal_projector."}) {
      if (hf_name.starts_with(part)) return "";
    }
    // Older files with images: language_model.model.layers; newer ones:
    // model.language_model.layers.
    std::string_view rest = hf_name;
    if (strip(rest, "language_model.")) {
      name = rest;
    } else if (strip(rest, "model.language_model.")) {
      name = "model." + std::string(rest);
    }
  }
  std::string_view rest = name;
  if (strip(rest, "model.layers.")) return layer_name(rest, is_gemma3);
  const auto found = find(kOuterNames, name);
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

}  // namespace headwise
