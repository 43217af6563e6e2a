#include "advisor/time/attention_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "advisor/time/assumed_times.h"
#include "core/check.h"

namespace headwise {
namespace {

// How far the rules missed where both sides were measured (docs/codesign.md), relative.
constexpr double kHeadsError = 0.05;
constexpr double kGroupErrorOfDoubling = 0.15;
constexpr double kDimensionErrorOfDoubling = 0.3;
constexpr double kLatentErrorOfDoubling = 0.3;
constexpr double kWindowOfDecodeError = 0.1;
constexpr double kPrefixError = 0.2;
constexpr double kQueryTypeError = 0.2;
constexpr double kAbsorbedAppendError = 0.3;

constexpr const char* kPrefill = "attention_prefill";
constexpr const char* kDecode = "attention_decode";

double number(const AxisValues& values, std::string_view name) {
  const auto found = values.find(name);
  const double* held = found == values.end() ? nullptr : std::get_if<double>(&found->second);
  return held == nullptr ? 0.0 : *held;
}

double doublings(double a, double b) { return std::abs(std::log2(a / b)); }

/// f16 has bf16's size and rate; where it was measured itself, by that.
std::string type_name(const CalibratedTimes& times, const char* query, const char* axis,
                      DType type) {
  const std::string name(name_of(type));
  const auto is_own = [&](const AxisValues& fixed) {
    const auto found = fixed.find(axis);
    return found != fixed.end() && found->second == AxisValue(name);
  };
  if (type != DType::f16 || std::ranges::any_of(times.measured(query), is_own)) return name;
  return std::string(name_of(DType::bf16));
}

double pairs_of(const AttentionSpan& span, const NewTokens& tokens) {
  return static_cast<double>(attention_pairs(span, tokens));
}

/// Causal pairs over a whole prefill, or bytes, which go by batch and length, over a decode.
ScalingLaw law_of(bool is_prefill) {
  if (!is_prefill)
    return [](const AxisValues& at) {
      const double length = number(at, "kv_len"), window = number(at, "window");
      return number(at, "batch") * (window > 0.0 ? std::min(window, length) : length);
    };
  return [](const AxisValues& at) {
    const auto whole = [&](const char* name) { return std::llround(number(at, name)); };
    AttentionSpan span;
    if (number(at, "window") > 0.0) span = {SpanKind::sliding_window, whole("window")};
    return number(at, "batch") *
           pairs_of(span, {.prefix = whole("prefix"), .count = whole("q_len")});
  };
}

bool is_decode(const NewTokens& tokens) { return tokens.count == 1 && tokens.prefix > 0; }

/// `values` but for the head counts and the dimension.
bool is_comparable(const AxisValues& fixed, const AxisValues& values) {
  return std::ranges::all_of(fixed, [&](const auto& each) {
    const auto& [name, value] = each;
    if (name == "q_heads" || name == "kv_heads" || name == "head_dim") return true;
    const auto found = values.find(name);
    return found != values.end() && found->second == value;
  });
}

/// How far a measured shape is from another.
struct Distance {
  double group = 0.0, dimension = 0.0, heads = 0.0;  ///< in doublings

  double cost() const {
    constexpr double kHeadsCost = 0.05;
    return kGroupErrorOfDoubling * group + kDimensionErrorOfDoubling * dimension +
           kHeadsCost * heads;
  }
};

Distance distance(const AxisValues& fixed, const SoftmaxAttention& shape, double dim) {
  const double q = number(fixed, "q_heads"), kv = number(fixed, "kv_heads");
  const auto q_heads = static_cast<double>(shape.q_heads);
  const auto kv_heads = static_cast<double>(shape.kv_heads);
  return {.group = doublings(q / kv, q_heads / kv_heads),
          .dimension = doublings(number(fixed, "head_dim"), dim),
          .heads = doublings(kv, kv_heads)};
}

/// The head counts that were measured next to another.
struct Neighbours {
  std::optional<double> below, above;
};

Neighbours neighbours(const std::vector<AxisValues>& measured, double heads) {
  Neighbours near;
  for (const AxisValues& fixed : measured) {
    const double other = number(fixed, "q_heads");
    if (other < heads) near.below = std::max(other, near.below.value_or(other));
    if (other > heads) near.above = std::min(other, near.above.value_or(other));
  }
  return near;
}

double mean_dim(const SoftmaxAttention& shape) {
  return static_cast<double>(shape.head_dim_qk + shape.head_dim_v) / 2.0;
}

}  // namespace

Estimate AttentionTables::time(const CoreAttention& core) const {
  if (times_.empty()) return unknown("no calibration of the device");
  if (const auto* shape = std::get_if<SoftmaxAttention>(&core.attention))
    return softmax(*shape, core);
  if (const auto* shape = std::get_if<LatentAttention>(&core.attention))
    return latent(*shape, core);
  return unknown("no calibration has linear attention");
}

Estimate AttentionTables::softmax(const SoftmaxAttention& shape, const CoreAttention& core) const {
  const NewTokens& tokens = core.tokens;
  if (is_decode(tokens)) return decoded(shape, core);
  if (core.chunk > 0 && shape.span.kind != SpanKind::chunked && times_.has_axis(kPrefill, "prefix"))
    if (Estimate steps = in_steps(shape, core)) return steps;
  if (shape.span.kind != SpanKind::full && tokens.prefix + tokens.count <= shape.span.tokens) {
    CoreAttention within = core;  // nothing is out of sight
    SoftmaxAttention full = shape;
    full.span = {};
    within.attention = full;
    return softmax(full, within);
  }
  if (tokens.prefix > 0) return appended(shape, core);
  switch (shape.span.kind) {
    case SpanKind::sliding_window:
      return windowed(shape, core);
    case SpanKind::chunked:
      return chunked(shape, core);
    case SpanKind::full:
      break;
  }
  return table(true, shape, 0, core, static_cast<double>(tokens.count));
}

/// Between measured prefixes times are lines: steps in a row take what the one in their middle
/// does.
Estimate AttentionTables::in_steps(const SoftmaxAttention& shape, const CoreAttention& core) const {
  constexpr std::int64_t kMostRuns = 16;
  const auto [prefix, count] = core.tokens;
  const std::int64_t window = shape.span.kind == SpanKind::full ? 0 : shape.span.tokens;
  const auto step = [&](std::int64_t before, std::int64_t tokens) {
    CoreAttention one = core;
    one.tokens = {.prefix = prefix + before, .count = tokens};
    return table(true, shape, window, one, static_cast<double>(tokens));
  };
  const std::int64_t steps = count / core.chunk, runs = std::min(steps, kMostRuns);
  Estimate estimate;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t first = steps * run / runs, end = steps * (run + 1) / runs;
    estimate += step(core.chunk * (first + end - 1) / 2, core.chunk)
                    .scaled(static_cast<double>(end - first));
  }
  if (const std::int64_t rest = count % core.chunk; rest > 0) estimate += step(count - rest, rest);
  return estimate;
}

/// Chunks do not see each other.
Estimate AttentionTables::chunked(const SoftmaxAttention& shape, const CoreAttention& core) const {
  const std::int64_t chunk = shape.span.tokens;
  CoreAttention part = core;
  part.batch = core.batch * (core.tokens.count / chunk);
  Estimate estimate = table(true, shape, 0, part, static_cast<double>(chunk));
  part.batch = core.batch;
  if (const std::int64_t rest = core.tokens.count % chunk; rest > 0)
    estimate += table(true, shape, 0, part, static_cast<double>(rest));
  return estimate;
}

Estimate AttentionTables::windowed(const SoftmaxAttention& shape, const CoreAttention& core) const {
  const std::int64_t window = shape.span.tokens;
  const auto length = static_cast<double>(core.tokens.count);
  if (Estimate same = table(true, shape, window, core, length)) return same;
  const Estimate full = table(true, shape, 0, core, length);
  if (!full) return full;
  const double share = windowed_share(shape.span, core.tokens, efficiencies_.window_keys.value);
  return full.scaled(share).by_rule(efficiencies_.window_keys.error);
}

Estimate AttentionTables::appended(const SoftmaxAttention& shape, const CoreAttention& core) const {
  CoreAttention whole = core;
  whole.tokens = {.prefix = 0, .count = core.tokens.prefix + core.tokens.count};
  CoreAttention last = core;
  last.tokens = {.prefix = whole.tokens.count - 1, .count = 1};
  const double share = pairs_of(shape.span, core.tokens) / pairs_of(shape.span, whole.tokens);
  return larger(softmax(shape, whole).scaled(share), decoded(shape, last)).by_rule(kPrefixError);
}

Estimate AttentionTables::decoded(const SoftmaxAttention& shape, const CoreAttention& core) const {
  const double seen = pairs_of(shape.span, core.tokens);
  const auto context = static_cast<double>(core.tokens.prefix + 1);
  if (seen == context || shape.span.kind == SpanKind::chunked)
    return table(false, shape, 0, core, seen);
  if (Estimate same = table(false, shape, shape.span.tokens, core, context)) return same;
  return table(false, shape, 0, core, seen).by_rule(kWindowOfDecodeError);
}

Estimate AttentionTables::table(bool is_prefill, const SoftmaxAttention& shape, std::int64_t window,
                                const CoreAttention& core, double length) const {
  // Queries of decode were measured in bf16 alone.
  const bool widens = !is_prefill && core.q_type == DType::f8e4m3;
  const char* query = is_prefill ? kPrefill : kDecode;
  const DType q_type = widens ? DType::bf16 : core.q_type;
  AxisValues values{{"q_type", type_name(times_, query, "q_type", q_type)},
                    {"kv_type", type_name(times_, query, "kv_type", core.kv_type)},
                    {"q_heads", static_cast<double>(shape.q_heads)},
                    {"kv_heads", static_cast<double>(shape.kv_heads)},
                    {"head_dim", mean_dim(shape)},
                    {"window", static_cast<double>(window)},
                    {"batch", static_cast<double>(core.batch)},
                    {is_prefill ? "q_len" : "kv_len", length}};
  if (is_prefill) values["prefix"] = static_cast<double>(core.tokens.prefix);
  Estimate estimate = shape.head_dim_qk == shape.head_dim_v
                          ? times_.lookup(describe(core), query, values, law_of(is_prefill))
                          : unknown("keys and values of two sizes were not measured");
  if (!estimate) estimate = nearest(is_prefill, shape, values, core);
  return widens && estimate ? estimate.by_rule(kQueryTypeError) : estimate;
}

Estimate AttentionTables::nearest(bool is_prefill, const SoftmaxAttention& shape,
                                  const AxisValues& wanted, const CoreAttention& core) const {
  const char* query = is_prefill ? kPrefill : kDecode;
  const double dim = mean_dim(shape);
  std::optional<AxisValues> near;
  for (AxisValues& fixed : times_.measured(query)) {
    const bool is_nearer =
        !near || distance(fixed, shape, dim).cost() < distance(*near, shape, dim).cost();
    if (is_comparable(fixed, wanted) && is_nearer) near = std::move(fixed);
  }
  if (!near) return unknown(concat("nothing like it was measured: ", describe(core)));
  const Distance off = distance(*near, shape, dim);
  AxisValues values = wanted;
  for (const char* name : {"q_heads", "kv_heads", "head_dim"}) values[name] = number(*near, name);
  const double kv_heads = number(*near, "kv_heads");
  const double group = number(*near, "q_heads") / kv_heads;
  values["batch"] = static_cast<double>(core.batch * shape.kv_heads) / kv_heads;
  const double wanted_group =
      static_cast<double>(shape.q_heads) / static_cast<double>(shape.kv_heads);
  const double scale = dim / number(*near, "head_dim") * (is_prefill ? wanted_group / group : 1.0);
  Estimate estimate = times_.lookup(describe(core), query, values, law_of(is_prefill));
  if (!estimate) return estimate;
  return estimate.scaled(scale).by_rule((off.heads > 0.0 ? kHeadsError : 0.0) +
                                        kGroupErrorOfDoubling * off.group +
                                        kDimensionErrorOfDoubling * off.dimension);
}

Estimate AttentionTables::latent(const LatentAttention& shape, const CoreAttention& core) const {
  if (shape.indexer) return unknown("no calibration has a sparse indexer");
  const NewTokens& tokens = core.tokens;
  const auto batch = static_cast<double>(core.batch);
  const auto end = static_cast<double>(tokens.prefix + tokens.count);
  if (core.form == LatentForm::absorbed) {
    // New tokens as requests of their own: each would read the context by itself.
    const double rows = batch * static_cast<double>(tokens.count);
    const Estimate rows_alone = latent_table(false, shape, core, rows, end);
    return tokens.count == 1 || !rows_alone ? rows_alone : rows_alone.by_rule(kAbsorbedAppendError);
  }
  const Estimate whole = latent_table(true, shape, core, batch, end);
  if (tokens.prefix == 0 || !whole) return whole;
  const NewTokens all{.prefix = 0, .count = tokens.prefix + tokens.count};
  return whole.scaled(pairs_of({}, tokens) / pairs_of({}, all)).by_rule(kPrefixError);
}

Estimate AttentionTables::latent_table(bool is_prefill, const LatentAttention& shape,
                                       const CoreAttention& core, double batch,
                                       double length) const {
  const char* query = is_prefill ? "mla_prefill" : "mla_decode";
  const auto heads = static_cast<double>(shape.q_heads);
  const auto dim_qk = static_cast<double>(is_prefill ? shape.head_dim_qk() : shape.stored_dim());
  const auto dim_v = static_cast<double>(is_prefill ? shape.v_head_dim : shape.kv_lora_rank);
  AxisValues values{{"q_type", type_name(times_, query, "q_type", core.q_type)},
                    {"kv_type", type_name(times_, query, "kv_type", core.kv_type)},
                    {"q_heads", heads},
                    {"head_dim_qk", dim_qk},
                    {"head_dim_v", dim_v},
                    {"batch", batch},
                    {is_prefill ? "q_len" : "kv_len", length}};
  if (is_prefill) values["prefix"] = 0.0;
  const Estimate same = times_.lookup(describe(core), query, values, law_of(is_prefill));
  if (same) return same;
  const auto with_heads = [&](double other) {
    values["q_heads"] = other;
    return times_.lookup(describe(core), query, values, law_of(is_prefill));
  };
  const Neighbours near = neighbours(times_.measured(query), heads);
  if (!near.below && !near.above) return same;
  if (!near.below || !near.above) {
    const double other = near.below ? *near.below : *near.above;
    const Estimate estimate = with_heads(other);
    if (!estimate) return same;
    return estimate.scaled(heads / other).by_rule(kLatentErrorOfDoubling * doublings(other, heads));
  }
  const Estimate below = with_heads(*near.below), above = with_heads(*near.above);
  if (!below || !above) return same;
  const double part = std::log(heads / *near.below) / std::log(*near.above / *near.below);
  Estimate between = above.scaled(std::pow(below.seconds / above.seconds, 1.0 - part));
  between.of.insert(between.of.end(), below.of.begin(), below.of.end());
  // Prefill goes by heads; decode may do anything in between, as a grid without further neighbours.
  const double half_way = std::abs(std::log(above.seconds / below.seconds)) / 2.0;
  return between.by_rule(is_prefill ? kGroupErrorOfDoubling : half_way);
}

}  // namespace headwise
