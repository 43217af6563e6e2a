#include "advisor/time/assumed_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace headwise {
namespace {

/// FLOPs that any device does while it reads a byte: below half of the least that data/hardware
/// has, 37.
constexpr double kIntensityThatReadsBind = 16.0;

std::optional<double> value_of(const std::optional<Figure>& figure) {
  return figure ? std::optional(figure->value) : std::nullopt;
}

}  // namespace

/// Shares of the rates, and the rate of products.
struct AssumedTimes::Reached {
  std::optional<double> flops_per_s;
  Efficiency products, read;
  std::optional<Efficiency> exponentials;
};

const char* name_of(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::all_reduce:
      return "all-reduce";
    case Exchange::Kind::all_gather:
      return "all-gather";
    case Exchange::Kind::all_to_all:
      return "all-to-all";
    case Exchange::Kind::point_to_point:
      break;
  }
  return "point to point";
}

const char* name_of(DeviceLimit limit) {
  switch (limit) {
    case DeviceLimit::compute:
      return "compute";
    case DeviceLimit::bandwidth:
      return "bandwidth";
    case DeviceLimit::exponentials:
      break;
  }
  return "exponentials";
}

std::optional<double> product_rate(const Hardware& hardware, DType type) {
  if (is_8_bit(type) && hardware.fp8_flops) return hardware.fp8_flops->value;
  if (type == DType::f32) return value_of(hardware.f32_flops);
  return value_of(hardware.bf16_flops);
}

std::optional<double> product_rate(const Hardware& hardware, WeightFormat format) {
  if (format == WeightFormat::nvfp4 && hardware.fp4_flops) return hardware.fp4_flops->value;
  // Four bits on a device without products of them are widened: to bf16, as kernels do.
  const bool is_fp8 = format == WeightFormat::fp8 || format == WeightFormat::fp8_block;
  return product_rate(hardware, is_fp8 ? DType::f8e4m3 : DType::bf16);
}

DeviceLimit limit_of(const Hardware& hardware, const CoreAttention& attention) {
  const DeviceWork work = core_attention_work(attention);
  const auto seconds = [](double amount, std::optional<double> rate) {
    return rate ? amount / *rate : 0.0;
  };
  const double compute = seconds(work.flops, product_rate(hardware, attention.q_type));
  const double bandwidth = seconds(work.bytes, value_of(hardware.memory_bytes_per_s));
  const double exponentials = seconds(work.exponentials, value_of(hardware.exp_per_s));
  if (exponentials > std::max(compute, bandwidth)) return DeviceLimit::exponentials;
  return compute > bandwidth ? DeviceLimit::compute : DeviceLimit::bandwidth;
}

AssumedTimes::AssumedTimes(Hardware hardware, Efficiencies efficiencies,
                           std::optional<double> link_bytes_per_s)
    : hardware_(std::move(hardware)),
      efficiencies_(std::move(efficiencies)),
      has_other_link_(link_bytes_per_s.has_value()),
      link_(link_bytes_per_s ? link_bytes_per_s : value_of(hardware_.link_bytes_per_s)) {}

Estimate AssumedTimes::assumed(const std::string& what, double seconds, double error,
                               std::string basis) const {
  Estimate estimate{.seconds = seconds, .error = error, .assumed = seconds};
  estimate.of.push_back(std::make_shared<const Provenance>(Provenance{
      .what = what,
      .file = efficiencies_.file,
      .system = hardware_.name,
      .basis = std::move(basis),
      .source = "assumed",
      .error = error,
  }));
  return estimate;
}

Estimate AssumedTimes::bound(const std::string& what, const DeviceWork& work,
                             const Reached& reached) const {
  struct Side {
    const char* name;
    double seconds;
    const Efficiency* efficiency;
  };
  const double read = work.bytes / (hardware_.memory_bytes_per_s->value * reached.read.value);
  Side side{"bandwidth", read, &reached.read};
  if (reached.flops_per_s) {
    const double compute = work.flops / (*reached.flops_per_s * reached.products.value);
    if (compute > side.seconds) side = {"products", compute, &reached.products};
  } else if (work.flops > kIntensityThatReadsBind * work.bytes) {
    return unknown(concat(hardware_.name, ": no rate of products is known, and ", what,
                          " does too many for reads to bind it"));
  }
  if (reached.exponentials && hardware_.exp_per_s) {
    const double exponentials =
        work.exponentials / (hardware_.exp_per_s->value * reached.exponentials->value);
    if (exponentials > side.seconds) side = {"exponentials", exponentials, &*reached.exponentials};
  }
  const Efficiency& kernel = efficiencies_.kernel_us;
  const double own = kernel.value * 1e-6;
  const double seconds = side.seconds + own;
  const double error = (side.seconds * side.efficiency->error + own * kernel.error) / seconds;
  return assumed(what, seconds, error,
                 concat(side.name, " at ", side.efficiency->value, " of the device's, and ",
                        kernel.value, " us; of that share: ", side.efficiency->origin));
}

/// Never the whole of what a window saves in pairs.
Estimate AssumedTimes::windowed(const SoftmaxAttention& shape, const CoreAttention& core) const {
  CoreAttention all = core;
  SoftmaxAttention full = shape;
  full.span = {};
  all.attention = full;
  Estimate estimate =
      time(all).scaled(windowed_share(shape.span, core.tokens, efficiencies_.window_keys.value));
  estimate.error += efficiencies_.window_keys.error;
  return estimate;
}

Estimate AssumedTimes::time(const CoreAttention& core) const {
  const auto* softmax = std::get_if<SoftmaxAttention>(&core.attention);
  if (softmax != nullptr && softmax->span.kind == SpanKind::sliding_window && core.tokens.count > 1)
    return windowed(*softmax, core);
  const Efficiencies& reach = efficiencies_;
  Reached reached{.flops_per_s = product_rate(hardware_, core.q_type),
                  .products = reach.attention_products,
                  .read = reach.attention_read,
                  .exponentials = reach.attention_exponentials};
  if (std::holds_alternative<LatentAttention>(core.attention)) {
    const bool absorbed = core.form == LatentForm::absorbed;
    reached.products = absorbed ? reach.latent_decode_products : reach.latent_prefill_products;
    reached.read = reach.latent_read;
  }
  return bound(describe(core), core_attention_work(core), reached);
}

Estimate AssumedTimes::time(const Product& product) const {
  const auto m = static_cast<double>(product.m);
  const auto n = static_cast<double>(product.n);
  const auto k = static_cast<double>(product.k);
  constexpr double kActivationBytes = 2.0;
  const double stored =
      product.stored ? product.stored->bytes_per_weight : bytes_per_weight(product.weights);
  return bound(describe(product),
               {.flops = 2.0 * m * n * k, .bytes = n * k * stored + kActivationBytes * m * (n + k)},
               {.flops_per_s = product_rate(hardware_, product.weights),
                .products = efficiencies_.products,
                .read = efficiencies_.product_read,
                .exponentials = {}});
}

Estimate AssumedTimes::time(const Experts& experts) const {
  const auto ranks = static_cast<double>(experts.tp * experts.ep);
  const auto tokens = static_cast<double>(experts.tokens);
  const auto chosen = static_cast<double>(experts.top_k) / static_cast<double>(experts.experts);
  const double matrices = 3.0 * static_cast<double>(experts.hidden * experts.width);
  // Of experts that no token chose nothing is read.
  const double touched =
      static_cast<double>(experts.experts) * (1.0 - std::pow(1.0 - chosen, tokens));
  constexpr double kActivationBytes = 2.0;
  const double rows = tokens * static_cast<double>(experts.top_k) / ranks;
  Efficiency products = efficiencies_.experts_products;
  if (experts.routing != "balanced") products.value *= efficiencies_.experts_balance.value;
  return bound(describe(experts),
               {.flops = 2.0 * matrices * rows,
                .bytes = touched * matrices * bytes_per_weight(experts.weights) / ranks +
                         kActivationBytes * rows * 2.0 * static_cast<double>(experts.hidden)},
               {.flops_per_s = product_rate(hardware_, experts.weights),
                .products = products,
                .read = efficiencies_.product_read,
                .exponentials = {}});
}

Estimate AssumedTimes::time(const Pass& pass) const {
  const double read =
      pass.bytes / (hardware_.memory_bytes_per_s->value * efficiencies_.product_read.value);
  const double kernels = static_cast<double>(pass.kernels) * efficiencies_.kernel_us.value * 1e-6;
  return assumed(
      "norms and residuals", std::max(read, kernels), efficiencies_.kernel_us.error,
      concat("bandwidth at ", efficiencies_.product_read.value, " of the device's, at least ",
             efficiencies_.kernel_us.value, " us a kernel"));
}

Estimate AssumedTimes::time(const Exchange& exchange) const {
  if (exchange.devices <= 1) return {};
  if (!link_) return unknown(concat(hardware_.name, ": no link to other devices is known"));
  const auto devices = static_cast<double>(exchange.devices);
  const double others = (devices - 1.0) / devices;
  double moved = exchange.bytes;
  if (exchange.kind == Exchange::Kind::all_reduce) moved *= 2.0 * others;
  if (exchange.kind == Exchange::Kind::all_gather || exchange.kind == Exchange::Kind::all_to_all)
    moved *= others;
  const double on_links = moved / (*link_ * efficiencies_.link.value);
  const double own = efficiencies_.exchange_us.value * 1e-6;
  const double seconds = on_links + own;
  const double error =
      (on_links * efficiencies_.link.error + own * efficiencies_.exchange_us.error) / seconds;
  return assumed(
      concat(name_of(exchange.kind), " over ", exchange.devices, " devices"), seconds, error,
      concat("a ring over links of ", *link_ / 1e9, " GB/s at ", efficiencies_.link.value, ", and ",
             efficiencies_.exchange_us.value, " us"));
}

std::string describe(const Product& product) {
  return concat("product ", product.m, " x ", product.n, " x ", product.k, ", ",
                product.stored ? std::string_view(product.stored->name) : name_of(product.weights),
                product.largest_only ? kLargestRow : "");
}

std::string describe(const Experts& experts) {
  return concat(experts.top_k, " of ", experts.experts, " experts of ", experts.width, ", ",
                name_of(experts.weights), ", ", experts.tokens, " tokens");
}

}  // namespace headwise
