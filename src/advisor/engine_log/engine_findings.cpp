#include "advisor/engine_log/engine_findings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "advisor/engine_log/gpu_generation.h"
#include "advisor/engine_log/logged_attention.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr std::string_view kGuideline =
    "NVIDIA's co-design guidelines: tensor parallelism up to "
    "the number of KV heads";

std::string phase_of(const LoggedKernel& kernel) {
  return kernel.phase.empty() ? "" : concat(" (", kernel.phase, ")");
}

std::string title_of(const LoggedKernel& kernel) {
  return kernel.kernel ? concat(kernel.name, phase_of(kernel), ", ", name_of(*kernel.kernel))
                       : concat(kernel.name, phase_of(kernel));
}

bool lists(std::string_view list, std::string_view word) {
  return list.find(concat(" ", word, " ")) != std::string_view::npos;
}

Finding judge_generation(const LoggedKernel& kernel, const LoggedAttention& logged) {
  Finding finding{.subject = "kernel", .statement = title_of(kernel), .lines = {kernel.line}};
  if (!kernel.kernel) {
    finding.reason = "this backend is none that is known here";
    return finding;
  }
  if (!logged.compute_capability) {
    finding.reason = logged.gpu.empty() ? "which GPU it ran on is not known: --gpu tells it"
                                        : concat("nothing is known of the GPU ", logged.gpu);
    return finding;
  }
  const int capability = *logged.compute_capability;
  finding.statement +=
      concat(", on ", logged.gpu, logged.gpu.empty() ? "" : ", ", name_of_generation(capability));
  finding.reason = "no rule is known for this kernel on this GPU";
  for (const GenerationRule& rule : generation_rules()) {
    if (rule.kernel != *kernel.kernel || capability < rule.from || capability > rule.to) continue;
    finding.verdict = rule.verdict;
    finding.reason = rule.reason;
    finding.source = rule.source;
    break;
  }
  return finding;
}

enum class KvWidth : std::uint8_t { two_bytes, less, not_said };

KvWidth width_of(const std::string& type, ServingEngine engine) {
  constexpr std::array sixteen{"bfloat16", "bf16", "float16", "fp16", "half"};
  if (std::ranges::find(sixteen, type) != sixteen.end()) return KvWidth::two_bytes;
  if (type != "auto") return KvWidth::less;
  // TensorRT-LLM's "auto" is what the checkpoint says; of the others, the activations' type.
  return engine == ServingEngine::tensorrt_llm ? KvWidth::not_said : KvWidth::two_bytes;
}

const KvRule* find_kv_rule(AttentionKernel kernel, const std::string& type,
                           std::optional<int> capability) {
  for (const KvRule& rule : kv_rules()) {
    if (rule.kernel != kernel || (!rule.types.empty() && !lists(rule.types, type))) continue;
    const bool anywhere = rule.from == 0 && rule.to == 0;
    if (anywhere || (capability && *capability >= rule.from && *capability <= rule.to))
      return &rule;
  }
  return nullptr;
}

Finding judge_kv_type(const LoggedKernel& kernel, const LoggedAttention& logged) {
  const std::string& type = logged.kv_type->value;
  Finding finding{.subject = "KV type",
                  .statement = concat(type, " KV, ", title_of(kernel)),
                  .lines = {logged.kv_type->line, kernel.line}};
  const KvWidth width = width_of(type, logged.engine);
  if (width == KvWidth::two_bytes) {
    finding.verdict = Verdict::fits;
    finding.reason = "16-bit KV is read as it is stored";
  } else if (width == KvWidth::not_said) {
    finding.reason = "the type is the checkpoint's, which the log does not say";
  } else if (const KvRule* rule =
                 kernel.kernel ? find_kv_rule(*kernel.kernel, type, logged.compute_capability)
                               : nullptr) {
    finding.verdict = rule->verdict;
    finding.reason = rule->reason;
    finding.source = rule->source;
  } else {
    finding.reason = logged.compute_capability || !kernel.kernel
                         ? "whether this kernel reads it as it is stored is not known"
                         : "it depends on the GPU, which is not known: --gpu tells it";
  }
  return finding;
}

std::optional<Finding> judge_page(const LoggedKernel& kernel, const LoggedAttention& logged,
                                  std::int64_t line) {
  for (const PageRule& rule : page_rules()) {
    if (rule.engine != logged.engine || kernel.kernel != rule.kernel) continue;
    const int page = *logged.page_size;
    const bool suits =
        page % rule.multiple_of == 0 && page >= rule.least && (rule.most == 0 || page <= rule.most);
    return Finding{
        .subject = "page size",
        .verdict = suits ? Verdict::fits : rule.otherwise,
        .statement = concat(page, page == 1 ? " token, " : " tokens, ", title_of(kernel)),
        .reason = std::string(rule.reason),
        .source = std::string(rule.source),
        .lines = {line, kernel.line}};
  }
  return std::nullopt;
}

/// Dimensions of the heads: the log's, or those of the model's layers. None for MLA, whose kernels
/// have one shape.
std::set<std::int64_t> head_dims(const LoggedAttention& logged, const KnownBesides& known) {
  std::set<std::int64_t> dims;
  if (logged.latent) return dims;
  if (logged.head_dim) dims.insert(*logged.head_dim);
  if (known.model != nullptr)
    for (const EqualLayers& group : known.model->groups)
      if (const auto* layer = std::get_if<SoftmaxAttention>(&group.layer.attention))
        dims.insert(layer->head_dim_qk);
  return dims;
}

std::optional<Finding> judge_head_dim(const LoggedKernel& kernel, const LoggedAttention& logged,
                                      std::int64_t head_dim) {
  for (const HeadDimRule& rule : head_dim_rules()) {
    if (rule.engine != logged.engine || kernel.kernel != rule.kernel) continue;
    const bool taken = rule.listed.empty() ? head_dim % rule.multiple_of == 0 &&
                                                 (rule.most == 0 || head_dim <= rule.most)
                                           : lists(rule.listed, concat(head_dim));
    Finding finding{.subject = "head dimension",
                    .verdict = taken ? Verdict::fits : Verdict::wrong,
                    .statement = concat(head_dim, ", ", title_of(kernel)),
                    .reason = taken ? "the kernel takes it" : "the kernel does not take it",
                    .source = std::string(rule.source),
                    .lines = {kernel.line}};
    return finding;
  }
  return std::nullopt;
}

/// The fewest KV heads of the model's layers; nothing, if it has no softmax attention.
std::optional<std::int64_t> fewest_kv_heads(const ModelDescription& model) {
  std::optional<std::int64_t> fewest;
  for (const EqualLayers& group : model.groups)
    if (const auto* layer = std::get_if<SoftmaxAttention>(&group.layer.attention))
      fewest = std::min(fewest.value_or(layer->kv_heads), layer->kv_heads);
  return fewest;
}

/// GPUs that share a request's heads. With attention DP they are fewer than those of the products:
/// SGLang divides tp_size by dp_size, TensorRT-LLM's then hold whole requests.
int attention_tp(const LoggedAttention& logged) {
  if (!logged.attention_dp) return *logged.tensor_parallel;
  if (logged.engine != ServingEngine::sglang) return 1;
  return std::max(1, *logged.tensor_parallel / logged.data_parallel.value_or(1));
}

std::optional<Finding> judge_parallelism(const LoggedAttention& logged, const KnownBesides& known,
                                         std::int64_t line) {
  std::optional<std::int64_t> kv_heads;
  if (logged.latent)
    kv_heads = 1;
  else if (known.model != nullptr)
    kv_heads = fewest_kv_heads(*known.model);
  if (!kv_heads) return std::nullopt;
  const int gpus = attention_tp(logged);
  const std::int64_t apart = *kv_heads * logged.context_parallel.value_or(1);
  Finding finding{.subject = "KV heads",
                  .verdict = gpus <= apart ? Verdict::fits : Verdict::worse,
                  .statement = concat(
                      logged.latent ? std::string("one latent KV") : concat(*kv_heads, " KV heads"),
                      " over ", gpus, gpus == 1 ? " GPU" : " GPUs"),
                  .reason = "each GPU holds KV of its own",
                  .lines = {line}};
  if (gpus > apart) {
    finding.reason = concat("KV is held ", static_cast<double>(gpus) / static_cast<double>(apart),
                            " times; attention data parallelism or KV parallelism holds it once");
    finding.source = kGuideline;
  }
  return finding;
}

void judge_what_was_said(const EngineLog& log, std::vector<Finding>& findings) {
  for (const LoggedValue& words : log.passed_over)
    findings.push_back({.subject = "passed over",
                        .verdict = Verdict::cannot_tell,
                        .statement = "the engine has no use for a backend here",
                        .reason = concat("in its words: ", words.value),
                        .lines = {words.line}});
  for (const LoggedValue& words : log.costly_settings)
    findings.push_back({.subject = "setting",
                        .verdict = Verdict::worse,
                        .statement = "a setting or a missing package cost a better backend",
                        .reason = concat("in the engine's words: ", words.value),
                        .lines = {words.line}});
  if (const LoggedValue* scale = log.find(LogTopic::kv_scale))
    findings.push_back({.subject = "KV scale",
                        .verdict = Verdict::worse,
                        .statement = concat("FP8 KV with a scale of ", scale->value),
                        .reason = "the checkpoint has none; keys or values beyond 448 saturate, "
                                  "small ones lose bits: calibrate",
                        .lines = {scale->line}});
}

std::vector<std::string> what_is_missing(const LoggedAttention& logged, const KnownBesides& known,
                                         const EngineLog& log) {
  std::vector<std::string> missing;
  const auto need = [&](bool there, const char* name) {
    if (!there) missing.emplace_back(name);
  };
  need(log.find(LogTopic::version) != nullptr, "version");
  need(log.find(LogTopic::model) != nullptr, "model");
  need(logged.compute_capability.has_value(), "gpu");
  need(!logged.kernels.empty(), "backend");
  need(logged.kv_type.has_value(), "kv_type");
  need(logged.page_size.has_value(), "page_size");
  need(logged.tensor_parallel.has_value(), "tensor_parallel");
  need(logged.latent || !head_dims(logged, known).empty(), "head_dim");
  need(logged.latent || known.model != nullptr, "kv_heads");
  return missing;
}

/// The worst finding; that the kernel cannot be judged outweighs what fits besides.
Verdict overall(const std::vector<Finding>& findings) {
  const auto any = [&](Verdict verdict, std::string_view subject) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.verdict == verdict && (subject.empty() || finding.subject == subject);
    });
  };
  if (any(Verdict::wrong, "")) return Verdict::wrong;
  if (any(Verdict::worse, "")) return Verdict::worse;
  const bool open = any(Verdict::cannot_tell, "kernel") || any(Verdict::cannot_tell, "KV type");
  return open || !any(Verdict::fits, "kernel") ? Verdict::cannot_tell : Verdict::fits;
}

}  // namespace

EngineCheck check_engine(const EngineLog& log, const KnownBesides& known) {
  const LoggedAttention logged = read_logged_attention(log, known);
  const auto line_of = [&](LogTopic topic) {
    const LoggedValue* fact = log.find(topic);
    return fact == nullptr ? std::int64_t{0} : fact->line;
  };
  EngineCheck result;
  const auto add = [&](std::optional<Finding> finding) {
    if (finding) result.findings.push_back(*std::move(finding));
  };
  for (const LoggedKernel& kernel : logged.kernels) {
    add(judge_generation(kernel, logged));
    if (logged.kv_type) add(judge_kv_type(kernel, logged));
    if (logged.page_size) add(judge_page(kernel, logged, line_of(LogTopic::page_size)));
    for (const std::int64_t head_dim : head_dims(logged, known))
      add(judge_head_dim(kernel, logged, head_dim));
  }
  if (logged.tensor_parallel)
    add(judge_parallelism(logged, known, line_of(LogTopic::tensor_parallel)));
  judge_what_was_said(log, result.findings);
  result.not_found = what_is_missing(logged, known, log);
  result.verdict = overall(result.findings);
  return result;
}

}  // namespace headwise
