#include "advisor/advice/engine_flags.h"

#include "core/check.h"

namespace headwise {
namespace {

/// "--name 8", if it is not the default of 1.
std::string option(const char* name, std::int64_t value) {
  return value > 1 ? concat(" --", name, " ", value) : std::string();
}

bool has_latents(const ModelDescription& model) {
  for (const EqualLayers& group : model.groups)
    if (std::holds_alternative<LatentAttention>(group.layer.attention)) return true;
  return false;
}

bool is_wider_than_a_group(const Deployment& plan) { return plan.tp_ff != plan.tp * plan.kvp; }

std::string why_vllm_cannot(const ModelDescription& model, const Deployment& plan) {
  if (is_wider_than_a_group(plan))
    return "vLLM splits dense layers over the devices of an attention group, no wider";
  if (plan.ep > 1 && plan.ep != plan.stage_devices())
    return "vLLM spreads experts over all devices or splits their widths, nothing between";
  if (plan.kvp > 1 && !has_latents(model) && plan.tp != fewest_kv_heads(model))
    return concat("vLLM splits the context only where all ", fewest_kv_heads(model),
                  " KV heads are split: tp must be ", fewest_kv_heads(model));
  return {};
}

std::string why_trtllm_cannot(const ModelDescription& model, const Deployment& plan,
                              const Hardware& hardware) {
  if (is_wider_than_a_group(plan))
    return "TensorRT-LLM has no dense layers wider than an attention group";
  if (plan.kvp > 1 && !has_latents(model))
    return "TensorRT-LLM documents Helix for MLA models only";
  if (plan.kvp > 1 && !hardware.fp4_flops)
    return "TensorRT-LLM documents Helix for Blackwell GPUs only";
  if (plan.adp > 1 && plan.tp > 1 && routed_experts(model) > 0)
    return "TensorRT-LLM's attention data parallelism leaves no tensor parallelism within its "
           "groups";
  return {};
}

/// Independent copies of a dense model are instances of their own.
std::string where(const Deployment& plan, bool are_copies) {
  if (plan.kvp > 1) return "generation servers of disaggregated serving: ";
  return are_copies ? concat(plan.adp, " instances, each ") : std::string();
}

}  // namespace

EngineFlags vllm_flags(const ModelDescription& model, const Deployment& plan) {
  if (std::string why = why_vllm_cannot(model, plan); !why.empty()) return {{}, std::move(why)};
  const std::string flags = concat(
      "--tensor-parallel-size ", plan.tp * plan.kvp, option("data-parallel-size", plan.adp),
      option("decode-context-parallel-size", plan.kvp), option("pipeline-parallel-size", plan.pp),
      plan.ep > 1 ? " --enable-expert-parallel" : "");
  return {flags, {}};
}

EngineFlags trtllm_flags(const ModelDescription& model, const Deployment& plan,
                         const Hardware& hardware, std::int64_t page) {
  if (std::string why = why_trtllm_cannot(model, plan, hardware); !why.empty())
    return {{}, std::move(why)};
  const bool has_experts = routed_experts(model) > 0;
  const bool are_copies = plan.adp > 1 && !has_experts;
  const std::int64_t tp = are_copies ? plan.tp : plan.tp * plan.adp;
  std::string fields = concat("tensor_parallel_size: ", tp);
  if (plan.adp > 1 && has_experts) fields += ", enable_attention_dp: true";
  if (has_experts && plan.stage_devices() > 1)
    fields += concat(", moe_tensor_parallel_size: ", plan.experts_tp(),
                     ", moe_expert_parallel_size: ", plan.ep);
  if (plan.kvp > 1)
    fields +=
        concat(", context_parallel_size: ", plan.kvp, ", cp_config: {cp_type: HELIX, ",
               "tokens_per_block: ", page, "}, kv_cache_config: {tokens_per_block: ", page, "}");
  if (plan.pp > 1) fields += concat(", pipeline_parallel_size: ", plan.pp);
  return {concat(where(plan, are_copies), "{", fields, "}"), {}};
}

}  // namespace headwise
