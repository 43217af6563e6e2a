#include "advisor/engine_log/logged_attention.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "advisor/engine_log/gpu_generation.h"
#include "core/check.h"

namespace headwise {
namespace {

std::optional<int> number_of(const LoggedValue* fact) {
  if (fact == nullptr) return std::nullopt;
  int number = 0;
  const char* end = fact->value.data() + fact->value.size();
  const auto [stop, error] = std::from_chars(fact->value.data(), end, number);
  if (error != std::errc{} || stop != end || number < 1) return std::nullopt;
  return number;
}

std::string capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// FlashAttention's version is logged apart; SGLang has one name for a kernel and its sibling for
/// MLA.
AttentionKernel refined(AttentionKernel kernel, const EngineLog& log, bool latent) {
  using enum AttentionKernel;
  if (kernel == flash_attention) {
    const std::optional<int> version = number_of(log.find(LogTopic::flash_attention));
    if (version == 2) return flash_attention_2;
    if (version == 3) return flash_attention_3;
    if (version == 4) return flash_attention_4;
  }
  if (latent && log.engine == ServingEngine::sglang) {
    if (kernel == flashinfer) return flashinfer_mla;
    if (kernel == triton) return triton_mla;
  }
  return kernel;
}

LoggedKernel kernel_of(const LoggedValue& backend, std::string phase, const EngineLog& log,
                       bool latent) {
  LoggedKernel found{std::move(phase), backend.value, std::nullopt, backend.line};
  for (const KernelName& known : kernel_names())
    if (known.engine == log.engine && known.name == capitals(backend.value))
      found.kernel = refined(known.kernel, log, latent);
  return found;
}

void find_kernels(const EngineLog& log, LoggedAttention& found) {
  const LoggedValue* both = log.find(LogTopic::backend);
  const LoggedValue* prefill = log.find(LogTopic::prefill_backend);
  const LoggedValue* decode = log.find(LogTopic::decode_backend);
  if (prefill == nullptr) prefill = both;
  if (decode == nullptr) decode = both;
  const auto add = [&](const LoggedValue* backend, const char* phase) {
    if (backend != nullptr) found.kernels.push_back(kernel_of(*backend, phase, log, found.latent));
  };
  if (prefill != nullptr && decode != nullptr && prefill->value == decode->value) {
    add(prefill, "");
  } else {
    add(prefill, "prefill");
    add(decode, "decode");
  }
  for (const LoggedValue& other : log.other_backends) add(&other, "");
}

void find_gpu(const EngineLog& log, const KnownBesides& known, LoggedAttention& found) {
  if (!known.gpu.empty()) {
    found.gpu = known.gpu;
    found.compute_capability = compute_capability_of(known.gpu);
    check(found.compute_capability.has_value(), "GPU '", known.gpu,
          "' is not known; names are such as H100, H200, B200, A100, L40S, RTX 5090");
    return;
  }
  if (const LoggedValue* gpu = log.find(LogTopic::gpu)) {
    found.gpu = gpu->value;
    found.compute_capability = compute_capability_of(gpu->value);
  }
  if (!found.compute_capability)
    found.compute_capability = number_of(log.find(LogTopic::gpu_generation));
}

bool has_latent_layers(const ModelDescription& model) {
  return std::ranges::any_of(model.groups, [](const EqualLayers& group) {
    return std::holds_alternative<LatentAttention>(group.layer.attention);
  });
}

}  // namespace

LoggedAttention read_logged_attention(const EngineLog& log, const KnownBesides& known) {
  LoggedAttention found{.engine = log.engine};
  const auto is_true = [&](LogTopic topic) {
    const LoggedValue* fact = log.find(topic);
    return fact != nullptr && fact->value == "True";
  };
  found.latent =
      is_true(LogTopic::latent) || (known.model != nullptr && has_latent_layers(*known.model));
  find_kernels(log, found);
  for (const LoggedKernel& kernel : found.kernels)
    found.latent = found.latent || (kernel.kernel && is_latent(*kernel.kernel));
  find_gpu(log, known, found);
  if (const LoggedValue* type = log.find(LogTopic::kv_type)) found.kv_type = *type;
  found.page_size = number_of(log.find(LogTopic::page_size));
  found.tensor_parallel = number_of(log.find(LogTopic::tensor_parallel));
  found.data_parallel = number_of(log.find(LogTopic::data_parallel));
  found.context_parallel = number_of(log.find(LogTopic::context_parallel));
  found.head_dim = number_of(log.find(LogTopic::head_dim));
  found.attention_dp = is_true(LogTopic::attention_dp);
  return found;
}

}  // namespace headwise
