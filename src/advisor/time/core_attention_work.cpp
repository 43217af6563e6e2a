#include "advisor/time/core_attention_work.h"

#include <algorithm>

#include "core/check.h"

namespace headwise {
namespace {

double bytes_of(double elements, DType type) {
  return elements * static_cast<double>(size_of(type));
}

/// Keys that at least one new token sees.
double kept_keys(const AttentionSpan& span, const NewTokens& tokens) {
  const std::int64_t end = tokens.prefix + tokens.count;
  if (span.kind == SpanKind::full) return static_cast<double>(end);
  return static_cast<double>(std::min(end, span.tokens - 1 + tokens.count));
}

DeviceWork work_of(const SoftmaxAttention& softmax, const CoreAttention& core) {
  const auto count = static_cast<double>(core.tokens.count);
  const auto dims = static_cast<double>(softmax.head_dim_qk + softmax.head_dim_v);
  const auto q_heads = static_cast<double>(softmax.q_heads);
  const auto kv_heads = static_cast<double>(softmax.kv_heads);
  return {
      .bytes = bytes_of(kept_keys(softmax.span, core.tokens) * kv_heads * dims, core.kv_type) +
               bytes_of(count * q_heads * dims, DType::bf16),
      .exponentials = q_heads * static_cast<double>(attention_pairs(softmax.span, core.tokens))};
}

DeviceWork work_of(const LatentAttention& latent, const CoreAttention& core) {
  const auto count = static_cast<double>(core.tokens.count);
  const auto keys = static_cast<double>(core.tokens.prefix + core.tokens.count);
  const auto heads = static_cast<double>(latent.q_heads);
  const bool absorbed = core.form == LatentForm::absorbed;
  const auto row = static_cast<double>(
      absorbed ? latent.stored_dim() : latent.q_heads * (latent.head_dim_qk() + latent.v_head_dim));
  const auto query = static_cast<double>(absorbed ? latent.stored_dim() + latent.kv_lora_rank
                                                  : latent.head_dim_qk() + latent.v_head_dim);
  AttentionSpan seen;
  double read = keys;
  if (latent.indexer) {
    seen = {SpanKind::sliding_window, latent.indexer->top_k};  // as many as in a window
    read = std::min(keys, count * static_cast<double>(latent.indexer->top_k));
  }
  const double index =
      latent.indexer ? bytes_of(keys * static_cast<double>(latent.indexer->head_dim), core.kv_type)
                     : 0.0;
  return {.bytes = bytes_of(read * row, absorbed ? core.kv_type : DType::bf16) + index +
                   bytes_of(count * heads * query, DType::bf16),
          .exponentials = heads * static_cast<double>(attention_pairs(seen, core.tokens))};
}

DeviceWork work_of(const LinearAttention& linear, const CoreAttention& core) {
  constexpr double kStateBytes = 4.0;
  const auto count = static_cast<double>(core.tokens.count);
  const auto state = static_cast<double>(linear.v_heads * linear.k_head_dim * linear.v_head_dim);
  return {.bytes =
              2.0 * kStateBytes * state +
              bytes_of(2.0 * count * static_cast<double>(linear.conv_channels()), DType::bf16)};
}

}  // namespace

DeviceWork core_attention_work(const CoreAttention& core) {
  DeviceWork work =
      std::visit([&](const auto& kind) { return work_of(kind, core); }, core.attention);
  work.flops = core_attention_flops(core.attention, core.tokens, core.form);
  const auto batch = static_cast<double>(core.batch);
  return {.flops = batch * work.flops,
          .bytes = batch * work.bytes,
          .exponentials = batch * work.exponentials};
}

double windowed_share(const AttentionSpan& window, const NewTokens& tokens, double window_keys) {
  const auto end = static_cast<double>(tokens.prefix + tokens.count);
  const double hidden = std::max(0.0, 1.0 - static_cast<double>(window.tokens) / end);
  const double besides = window_keys * hidden * static_cast<double>(tokens.count);
  const auto pairs = static_cast<double>(attention_pairs(window, tokens));
  return std::min(1.0, (pairs + besides) / static_cast<double>(attention_pairs({}, tokens)));
}

std::string describe(const CoreAttention& core) {
  struct Name {
    std::string operator()(const SoftmaxAttention& softmax) const {
      return concat("attention of ", softmax.q_heads, " over ", softmax.kv_heads, " heads of ",
                    softmax.head_dim_qk);
    }
    std::string operator()(const LatentAttention& latent) const {
      return concat(form == LatentForm::absorbed ? "absorbed" : "expanded", " latent attention of ",
                    latent.q_heads, " heads");
    }
    std::string operator()(const LinearAttention& linear) const {
      return concat("linear attention of ", linear.v_heads, " heads");
    }
    LatentForm form;
  };
  return concat(std::visit(Name{core.form}, core.attention), ", ", core.batch, " x ",
                core.tokens.count, " behind ", core.tokens.prefix);
}

}  // namespace headwise
