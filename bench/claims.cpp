#include "bench/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attention/shape_spec.h"
#include "bench/row.h"

namespace headwise::bench {
namespace {

using Rows = std::vector<const Row*>;  // of one topic
using Cell = Claim::Cell;

constexpr std::array<std::string_view, kTopics> kNames{"scores", "generations", "memory", "groups",
                                                       "split",  "pages",       "mixed",  "append"};

// What "about as N", "gets faster", "hardly cares" and the like are to mean.
constexpr double kMostOfChip = 0.65;   // of the peak, by the chip's own instructions
constexpr double kHalfOfChip = 0.5;    // by those of the generation before, at most
constexpr double kLinear = 1.1;        // the largest exponent of what grows with N
constexpr double kFaster = 1.5;        // decode at the largest group, in the speed at the smallest
constexpr double kHardly = 1.25;       // prefill, the same
constexpr double kSplitPays = 1.3;     // one request over all threads, in the speed of one
constexpr double kNearlyMany = 1.3;    // the time of one request, in that of as many keys in many
constexpr int kLargePage = 64;         // tokens
constexpr double kLargePages = 0.9;    // speed over these, in that over contiguous keys
constexpr double kMixedAtMost = 1.02;  // time of one call, in that of two

Cell cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }
Cell cell(std::int64_t value) { return static_cast<double>(value); }

std::optional<double> mebibytes(const Row& row) {
  if (!row.workspace_bytes) return {};
  return static_cast<double>(*row.workspace_bytes) / (1 << 20);
}

/// FLOP a byte; absent: not timed.
std::optional<double> intensity(const Row& row) {
  if (!row.tflops || !row.gbps) return {};
  return *row.tflops * 1e3 / *row.gbps;
}

std::optional<double> speed_ratio(const Row& row, const Row& base) {
  if (&row == &base && row.ms) return 1.0;
  return row.time_ratio ? std::optional(1.0 / *row.time_ratio) : std::nullopt;
}

bool is_decode(const Row& row) { return row.q_len == 1; }
const char* step_name(const Row& row) { return is_decode(row) ? "decode" : "prefill"; }

const Row* one_with(const Rows& rows, std::string_view role, std::int64_t kv_len = 0) {
  for (const Row* row : rows)
    if (row->role == role && (kv_len == 0 || row->kv_len == kv_len)) return row;
  return nullptr;
}

Rows all_with(const Rows& rows, std::string_view role) {
  Rows found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [&](const Row* row) { return row->role == role; });
  return found;
}

Rows steps_of(const Rows& rows, bool decode) {
  Rows found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [&](const Row* row) { return is_decode(*row) == decode; });
  return found;
}

/// "2.0 to 3.1", or one of them where they look alike.
std::string range(const std::vector<double>& values, int digits = 2) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::string from = fmt::format("{:.{}f}", *least, digits);
  const std::string to = fmt::format("{:.{}f}", *most, digits);
  return from == to ? from : from + " to " + to;
}

/// Why there is no verdict.
void leave_open(Claim& claim, const Rows& rows) {
  claim.holds.reset();
  claim.measured = "not measured";
  for (const Row* row : rows)
    if (!row->ms && !row->note.empty()) {
      claim.measured += ": " + row->note;
      return;
    }
}

/// The exponent b of y = a x^b, by least squares of the logarithms; absent: less than two points.
std::optional<double> exponent(const std::vector<std::pair<double, double>>& points) {
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [context, bytes] : points) {
    const double lx = std::log(context);
    const double ly = std::log(bytes);
    x += lx;
    y += ly;
    xx += lx * lx;
    xy += lx * ly;
  }
  const double spread = n * xx - x * x;
  return spread > 1e-9 ? std::optional((n * xy - x * y) / spread) : std::nullopt;
}

void judge_scores(const Rows& rows, Claim& claim) {
  claim.text = "prefill is faster where scores are never written out";
  claim.heads = {"context", "fused ms", "written ms", "x as fast", "fused MiB", "written MiB"};
  std::vector<double> ratios;
  for (const Row* fused : all_with(rows, role::kFused)) {
    const Row* written = one_with(rows, role::kWritten, fused->kv_len);
    if (written == nullptr) continue;
    claim.points.push_back({cell(fused->kv_len), cell(fused->ms), cell(written->ms),
                            cell(written->time_ratio), cell(mebibytes(*fused)),
                            cell(mebibytes(*written))});
    if (written->time_ratio) ratios.push_back(*written->time_ratio);
  }
  if (ratios.empty()) return leave_open(claim, rows);
  claim.measured = range(ratios) + " x as fast as with scores in memory";
  claim.holds = *std::min_element(ratios.begin(), ratios.end()) > 1.0;
}

/// The published shares are FlashAttention-3's and FlashAttention-2's on an H100 (Shah et al.:
/// FlashAttention-3, 2024, abstract).
void judge_generations(const Rows& rows, Claim& claim) {
  claim.text = "of Hopper's peak its own instructions reach 0.75, those of Ampere 0.35";
  claim.heads = {"instructions", "context", "ms", "TFLOP/s", "SM MHz", "of peak", "published"};
  std::vector<double> own, earlier;
  for (const Row* row : rows) {
    const bool hopper = row->role == role::kHopper;
    claim.points.push_back({row->role, cell(row->kv_len), cell(row->ms), cell(row->tflops),
                            cell(row->sm_mhz), cell(row->fraction_peak), hopper ? 0.75 : 0.35});
    if (row->ms && row->fraction_peak) (hopper ? own : earlier).push_back(*row->fraction_peak);
  }
  if (own.empty() || earlier.empty()) return leave_open(claim, rows);
  claim.measured = fmt::format("{} and {}, at the clocks of each", range(own), range(earlier));
  claim.holds = *std::max_element(own.begin(), own.end()) >= kMostOfChip &&
                *std::max_element(earlier.begin(), earlier.end()) <= kHalfOfChip;
}

/// S and P in F32, whole, as a kernel that writes them out for a prefill at once needs them.
double mebibytes_of_scores(const Row& row) {
  const double heads = parse_shape_spec(row.shape).shape.q_heads;
  return 2.0 * heads * static_cast<double>(row.q_len) * static_cast<double>(row.kv_len) *
         static_cast<double>(size_of(DType::f32)) / (1 << 20);
}

void judge_memory(const Rows& rows, Claim& claim) {
  claim.text = "the workspace grows with N at most, not with N^2 as scores do";
  claim.heads = {"context", "fused MiB", "written MiB", "S and P MiB"};
  std::vector<std::pair<double, double>> fused_points, written_points;
  const auto add = [](std::vector<std::pair<double, double>>& points, const Row* row) {
    // One byte stands for none.
    if (row != nullptr && row->workspace_bytes)
      points.emplace_back(row->kv_len,
                          std::max<double>(1, static_cast<double>(*row->workspace_bytes)));
  };
  for (const Row* fused : all_with(rows, role::kFused)) {
    const Row* written = one_with(rows, role::kWritten, fused->kv_len);
    add(fused_points, fused);
    add(written_points, written);
    claim.points.push_back({cell(fused->kv_len), cell(mebibytes(*fused)),
                            written != nullptr ? cell(mebibytes(*written)) : Cell(),
                            mebibytes_of_scores(*fused)});
  }
  const std::optional<double> fused = exponent(fused_points);
  if (!fused) return leave_open(claim, rows);
  claim.measured = fmt::format("as N^{:.2f}", *fused);
  if (const std::optional<double> written = exponent(written_points))
    claim.measured += fmt::format("; written out, where that fits, as N^{:.2f}", *written);
  claim.holds = *fused <= kLinear;
}

/// Of the rows of one step over the groups: the speed at the largest in that at the smallest.
std::optional<double> add_groups(const Rows& rows, Claim& claim) {
  std::optional<double> last;
  for (const Row* row : rows) {
    last = speed_ratio(*row, *rows.front());
    claim.points.push_back({std::string(step_name(*row)),
                            cell(parse_shape_spec(row->shape).shape.group_size()),
                            cell(intensity(*row)), cell(row->ms), cell(last), row->limit});
  }
  return last;
}

void judge_groups(const Rows& rows, Claim& claim) {
  claim.text = "decode gets faster a query head as more of them share a read, prefill hardly cares";
  claim.heads = {"step", "group", "FLOP/byte", "ms", "x group of 1", "limit"};
  const std::optional<double> decode = add_groups(steps_of(rows, true), claim);
  const std::optional<double> prefill = add_groups(steps_of(rows, false), claim);
  if (!decode || !prefill) return leave_open(claim, rows);
  claim.measured = fmt::format("at the largest group decode is {:.2f} x as fast, prefill {:.2f} x",
                               *decode, *prefill);
  claim.holds = *decode >= kFaster && *prefill <= kHardly;
}

void judge_split(const Rows& rows, Claim& claim) {
  claim.text = "split along its keys, one long request is nearly as fast as as many keys in many";
  claim.heads = {"what", "requests", "kv_len", "ms", "GB/s", "x one request's time"};
  for (const Row* row : rows)
    claim.points.push_back(
        {row->role, cell(row->batch), cell(row->kv_len), cell(row->ms), cell(row->gbps),
         row->role == role::kOne && row->ms ? Cell(1.0) : cell(row->time_ratio)});
  const Row* one = one_with(rows, role::kOne);
  const Row* many = one_with(rows, role::kMany);
  const Row* thread = one_with(rows, role::kOneThread);
  if (one == nullptr || many == nullptr || !many->time_ratio) return leave_open(claim, rows);
  claim.measured = fmt::format("it takes {:.2f} x as long", 1.0 / *many->time_ratio);
  claim.holds = 1.0 / *many->time_ratio <= kNearlyMany;
  if (thread == nullptr) return;
  if (!thread->time_ratio || thread->device == one->device) return leave_open(claim, rows);
  claim.measured +=
      fmt::format(", and is {:.2f} x as fast as on the one thread that it would have unsplit",
                  *thread->time_ratio);
  claim.holds = *claim.holds && *thread->time_ratio >= kSplitPays;
}

void judge_pages(const Rows& rows, Claim& claim) {
  claim.text = "large pages cost next to nothing, pages of one token do";
  claim.heads = {"step", "page", "ms", "x contiguous speed"};
  std::vector<double> large;
  std::optional<double> smallest, large_decode;
  for (const bool decode : {true, false}) {
    const Rows steps = steps_of(rows, decode);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Row& row = *steps[i];
      const std::optional<double> speed = speed_ratio(row, *steps.front());
      claim.points.push_back({std::string(step_name(row)),
                              i == 0 ? Cell("contiguous") : cell(row.page.value_or(0)),
                              cell(row.ms), cell(speed)});
      if (i == 0 || !speed) continue;
      if (*row.page >= kLargePage) large.push_back(*speed);
      if (decode && *row.page == kLargePage) large_decode = speed;
      if (decode && *row.page == 1) smallest = speed;
    }
  }
  if (large.empty() || !smallest || !large_decode) return leave_open(claim, rows);
  claim.measured =
      fmt::format("{} of the speed over contiguous keys at {} and more, {:.2f} at 1 in decode",
                  range(large), kLargePage, *smallest);
  claim.holds =
      *std::min_element(large.begin(), large.end()) >= kLargePages && *smallest < *large_decode;
}

void judge_mixed(const Rows& rows, Claim& claim) {
  claim.text = "prompts and decodes in one call take no longer than apart";
  claim.heads = {"what", "requests", "new tokens", "ms", "x one call's time"};
  for (const Row* row : rows)
    claim.points.push_back(
        {row->role, cell(row->batch), cell(row->new_tokens), cell(row->ms),
         row->role == role::kWhole && row->ms ? Cell(1.0) : cell(row->time_ratio)});
  const Row* parts = one_with(rows, role::kParts);
  if (parts == nullptr || !parts->time_ratio) return leave_open(claim, rows);
  claim.measured = fmt::format("one call takes {:.3f} x the time of two", 1.0 / *parts->time_ratio);
  claim.holds = 1.0 / *parts->time_ratio <= kMixedAtMost;
}

/// Behind a long prefix each new token brings its group's query heads to every key: 2 FLOP for each
/// element of K and V that is read, so that new tokens x group / (bytes an element / 2) is where
/// the intensity goes.
void judge_append(const Rows& rows, const HardwareLimits& limits, Claim& claim) {
  claim.heads = {"prefix", "new", "FLOP/byte", "limit", "ms", "TFLOP/s", "GB/s", "fraction"};
  for (const Row* row : rows)
    claim.points.push_back({cell(row->kv_len - row->new_tokens), cell(row->new_tokens),
                            cell(intensity(*row)), row->limit, cell(row->ms), cell(row->tflops),
                            cell(row->gbps), cell(row->fraction)});
  const Row& last = *rows.back();
  claim.text = fmt::format("{} new tokens turn memory bound as what is cached before them grows",
                           last.new_tokens);
  const std::optional<double> reached = intensity(last);
  if (!reached) return leave_open(claim, rows);
  const AttentionShape shape = parse_shape_spec(last.shape).shape;
  const double balance = limits.products(shape.q_type).measured / limits.read_bytes_per_s;
  const auto news = static_cast<double>(last.new_tokens);
  claim.measured = fmt::format(
      "{:.0f} FLOP/byte behind {} tokens: {} bound, since this machine's limits meet at {:.0f}, "
      "for "
      "which {:.0f} of them would do",
      *reached, last.kv_len - last.new_tokens, last.limit, balance,
      std::ceil(balance / *reached * news));
  claim.holds = last.limit == name_of(Limit::bandwidth);
}

Claim judge(Topic topic, const Rows& rows, const HardwareLimits& limits) {
  Claim claim{.topic = topic};
  for (const Row* row : rows) {
    const std::string ran = row->backend + (row->kernel_row.empty() ? "" : " ") + row->kernel_row;
    if (std::find(claim.ran.begin(), claim.ran.end(), ran) == claim.ran.end())
      claim.ran.push_back(ran);
  }
  switch (topic) {
    case Topic::scores:
      judge_scores(rows, claim);
      break;
    case Topic::generations:
      judge_generations(rows, claim);
      break;
    case Topic::memory:
      judge_memory(rows, claim);
      break;
    case Topic::groups:
      judge_groups(rows, claim);
      break;
    case Topic::split:
      judge_split(rows, claim);
      break;
    case Topic::pages:
      judge_pages(rows, claim);
      break;
    case Topic::mixed:
      judge_mixed(rows, claim);
      break;
    case Topic::append:
      judge_append(rows, limits, claim);
      break;
  }
  return claim;
}

}  // namespace

std::string_view name_of(Topic topic) { return kNames[static_cast<std::size_t>(topic)]; }

std::vector<Claim> judge_claims(std::span<const Row> rows, const HardwareLimits& limits) {
  std::vector<Claim> claims;
  for (int i = 0; i < kTopics; ++i) {
    const auto topic = static_cast<Topic>(i);
    Rows about;
    for (const Row& row : rows)
      if (row.topic == topic) about.push_back(&row);
    if (!about.empty()) claims.push_back(judge(topic, about, limits));
  }
  return claims;
}

std::string verdict_line(const Claim& claim) {
  return fmt::format("{} — {} — {}", claim.text, claim.measured,
                     !claim.holds   ? "open"
                     : *claim.holds ? "holds"
                                    : "does not hold here");
}

nlohmann::ordered_json to_json(const Claim& claim) {
  using Json = nlohmann::ordered_json;
  Json points = Json::array();
  for (const std::vector<Cell>& cells : claim.points) {
    Json point;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      Json& value = point[claim.heads[i]];
      if (const auto* number = std::get_if<double>(&cells[i])) value = *number;
      if (const auto* text = std::get_if<std::string>(&cells[i])) value = *text;
    }
    points.push_back(std::move(point));
  }
  return {{"name", name_of(claim.topic)},
          {"claim", claim.text},
          {"measured", claim.measured},
          {"holds", claim.holds ? Json(*claim.holds) : Json(nullptr)},
          {"ran", claim.ran},
          {"points", points}};
}

}  // namespace headwise::bench
