#include "bench/table.h"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "bench/free_memory.h"
#include "bench/grid.h"

namespace headwise::bench {
namespace {

struct Column {
  const char* head;
  bool right;  ///< numbers
  std::string (*cell)(const Row&);
  bool optional = false;  ///< not shown where all of its cells are empty
};

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// Three or four significant digits, whether it is microseconds or minutes.
std::string milliseconds(const std::optional<double>& value) {
  if (!value) return "-";
  return fmt::format("{:.{}f}", *value, *value < 10.0 ? 3 : *value < 100.0 ? 2 : 1);
}

constexpr std::array<Column, 19> kColumns{{
    {"suite", false, [](const Row& r) { return r.suite; }},
    {"batch", true, [](const Row& r) { return fmt::format("{}", r.batch); }},
    {"q_len", true, [](const Row& r) { return fmt::format("{}", r.q_len); }},
    {"kv_len", true, [](const Row& r) { return fmt::format("{}", r.kv_len); }},
    {"lens", false, [](const Row& r) { return lens_text(r); }},
    {"page", true, [](const Row& r) { return r.page ? fmt::format("{}", *r.page) : "-"; }},
    {"backend", false, [](const Row& r) { return r.backend; }},
    {"kernel row", false, [](const Row& r) { return r.kernel_row.empty() ? "-" : r.kernel_row; }},
    {"ms", true, [](const Row& r) { return milliseconds(r.ms); }},
    {"min", true, [](const Row& r) { return milliseconds(r.ms_min); }},
    {"max", true, [](const Row& r) { return milliseconds(r.ms_max); }},
    {"TFLOP/s", true, [](const Row& r) { return number(r.tflops, 3); }},
    {"GB/s", true, [](const Row& r) { return number(r.gbps, 1); }},
    {"x peer", true, [](const Row& r) { return number(r.times_peer, 2); }, true},
    {"SM MHz", true, [](const Row& r) { return number(r.sm_mhz, 0); }, true},
    {"limit", false, [](const Row& r) { return r.limit; }},
    {"fraction", true, [](const Row& r) { return number(r.fraction, 2); }},
    {"of peak", true, [](const Row& r) { return number(r.fraction_peak, 2); }},
    {"workspace", true,
     [](const Row& r) {
       return r.workspace_bytes ? format_bytes(static_cast<double>(*r.workspace_bytes)) : "-";
     }},
}};

std::string format_device(const DeviceInfo& device) {
  const std::string cpu =
      fmt::format("{} ({}), {} threads", device.name, device.instruction_sets, device.threads);
  if (!device.gpu) return "device: " + cpu;
  return fmt::format("device: {}, {}; driver {}\nhost: {}",
                     to_string(Device{DeviceType::cuda, device.ordinal}), to_string(*device.gpu),
                     device.driver, cpu);
}

std::string tera(const std::optional<double>& flops) {
  return flops ? fmt::format("{:.1f}", *flops / 1e12) : "-";
}

std::string format_gpu_limits(const BenchReport& report) {
  const GpuLimits& limits = report.gpu_limits;
  const HardwareLimits peaks = report.probed();
  const double read_peak = peaks.peak_read_bytes_per_s.value_or(0.0);
  return fmt::format(
      "limits: read {:.0f} GB/s of {:.0f}, copy {:.0f}; products BF16 {} of {}, F16 {}, F32 {} "
      "TFLOP/s; at {:.0f} MHz",
      limits.read_bytes_per_s / 1e9, read_peak / 1e9, limits.copy_bytes_per_s / 1e9,
      tera(limits.bf16_product), tera(peaks.bf16.peak), tera(limits.f16_product),
      tera(limits.f32_product), limits.mhz);
}

std::string format_limits(const MachineLimits& limits) {
  std::string text =
      fmt::format("limits: read {:.1f} GB/s; F32 product {:.3f}, in registers {:.3f} TFLOP/s",
                  limits.read_bytes_per_s / 1e9, limits.f32_product / 1e12, limits.f32_fma / 1e12);
  if (limits.bf16_product)
    text += fmt::format("; BF16 product {:.3f}, in registers {:.3f} TFLOP/s",
                        *limits.bf16_product / 1e12, limits.bf16_dot.value_or(0.0) / 1e12);
  return text;
}

/// What fractions are of, where peers may have passed the probes.
std::string format_best(const HardwareLimits& best) {
  return fmt::format(
      "best of probes and peers: read {:.1f} GB/s; F32 {:.3f}, BF16 {:.3f} TFLOP/s\n",
      best.read_bytes_per_s / 1e9, best.f32.measured / 1e12, best.bf16.measured / 1e12);
}

bool any_of(const std::vector<Row>& rows, bool (*is)(const Row&)) {
  return std::any_of(rows.begin(), rows.end(), is);
}

bool differ(const std::vector<Row>& rows, std::string Row::*field) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return row.*field != rows.front().*field; });
}

std::string format_rows(const std::vector<Row>& rows) {
  const bool with_shape = differ(rows, &Row::shape);
  const bool with_protocol = differ(rows, &Row::protocol);
  std::vector<const Column*> columns;
  std::vector<std::pair<std::string, bool>> heads;
  for (const Column& column : kColumns) {
    const auto empty = [&](const Row& row) { return column.cell(row) == "-"; };
    if (column.optional && std::all_of(rows.begin(), rows.end(), empty)) continue;
    columns.push_back(&column);
    heads.emplace_back(column.head, column.right);
  }
  if (with_shape) heads.insert(heads.begin(), {"shape", false});
  if (with_protocol) heads.emplace_back("protocol", false);
  heads.emplace_back("note", false);
  Grid grid(std::move(heads));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    if (with_shape) cells.push_back(row.shape);
    for (const Column* column : columns) cells.push_back(column->cell(row));
    if (with_protocol) cells.push_back(row.protocol);
    cells.push_back(row.note);
    grid.add(std::move(cells));
  }
  return grid.text();
}

/// What goals of one shape and length differ by.
std::string wanted(const Judged& goal) {
  if (goal.bound == 0.0) return "-";
  return fmt::format("{} {:.2f}", goal.at_most ? "<=" : ">=", goal.bound);
}

std::string answer(const Judged& goal) {
  if (!goal.measured) return "not measured";
  const std::optional<bool> met = goal.met();
  return !met ? "-" : *met ? "yes" : "NO";
}

std::string format_goals(const std::vector<Row>& rows) {
  Grid grid({{"goal", false},
             {"shape", false},
             {"batch", true},
             {"q_len", true},
             {"kv_len", true},
             {"lens", false},
             {"measured", true},
             {"wanted", true},
             {"", false},
             {"met", false}});
  for (const Row& row : rows)
    for (const Judged& goal : row.goals)
      grid.add({row.suite, row.shape, fmt::format("{}", row.batch), fmt::format("{}", row.q_len),
                fmt::format("{}", row.kv_len), lens_text(row), number(goal.measured, 2),
                wanted(goal), goal.what, answer(goal)});
  return grid.text();
}

std::string format_cache(const std::vector<CacheRow>& rows) {
  Grid grid({{"cache", false},
             {"tokens", true},
             {"ns a token", true},
             {"min", true},
             {"max", true},
             {"wanted", true},
             {"met", false},
             {"work", false}});
  for (const CacheRow& row : rows) {
    const std::vector<Judged> goals = row.judged();
    grid.add({row.name, fmt::format("{}", row.tokens), number(row.ns, 2), number(row.ns_min, 2),
              number(row.ns_max, 2), goals.empty() ? "-" : fmt::format("<= {:.0f}", row.at_most),
              goals.empty()          ? ""
              : *goals.front().met() ? "yes"
                                     : "NO",
              row.what});
  }
  return grid.text();
}

std::string format_cell(const Claim::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* value = std::get_if<double>(&cell);
  if (value == nullptr) return "-";
  const bool whole = *value == std::floor(*value) && std::abs(*value) < 1e9;
  return whole ? fmt::format("{:.0f}", *value) : fmt::format("{:.4g}", *value);
}

std::string format_claim(const Claim& claim) {
  std::vector<std::pair<std::string, bool>> heads;
  for (std::size_t i = 0; i < claim.heads.size(); ++i) {
    const bool numbers = std::none_of(
        claim.points.begin(), claim.points.end(),
        [&](const auto& cells) { return std::holds_alternative<std::string>(cells[i]); });
    heads.emplace_back(claim.heads[i], numbers);
  }
  Grid grid(std::move(heads));
  for (const std::vector<Claim::Cell>& cells : claim.points) {
    std::vector<std::string> texts;
    for (const Claim::Cell& cell : cells) texts.push_back(format_cell(cell));
    grid.add(std::move(texts));
  }
  return fmt::format("\n{}: {}\nby {}\n{}", name_of(claim.topic), verdict_line(claim),
                     fmt::join(claim.ran, "; "), grid.text());
}

}  // namespace

std::string format_table(const BenchReport& report) {
  // Those of claims are in tables of their own, unless something is wrong with them. Plans that no
  // memory would do for are no surprise.
  std::vector<Row> rows;
  std::copy_if(
      report.rows.begin(), report.rows.end(), std::back_inserter(rows),
      [](const Row& row) { return !row.topic || (!row.ms && row.topic != Topic::memory); });
  std::string text =
      fmt::format("{}\n{}\n", format_device(report.device),
                  report.device.gpu ? format_gpu_limits(report) : format_limits(report.limits));
  for (const Claim& claim : report.claims) text += format_claim(claim);
  if (!report.cache.empty()) text += fmt::format("\n{}", format_cache(report.cache));
  if (rows.empty()) return text;
  if (!report.claims.empty() || !report.cache.empty()) text += '\n';
  if (any_of(rows, [](const Row& row) { return row.peer; })) text += format_best(report.best);
  if (!differ(rows, &Row::shape)) text += fmt::format("shape: {}; ", rows.front().shape);
  text += differ(rows, &Row::protocol) ? "protocol: that of each row"
                                       : fmt::format("protocol: {}", rows.front().protocol);
  text += fmt::format("\n\n{}", format_rows(rows));
  if (any_of(rows, [](const Row& row) { return !row.goals.empty(); }))
    text += fmt::format("\n{}", format_goals(rows));
  return text;
}

}  // namespace headwise::bench
