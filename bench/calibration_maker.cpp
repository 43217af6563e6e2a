#include "bench/calibration_maker.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <numeric>

#include "advisor/device/system_name.h"
#include "attention/shape_spec.h"
#include "core/check.h"
#include "headwise/version.h"

namespace headwise::bench {
namespace {

double quantile(const Samples& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

double mean(const Samples& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm day{};
  gmtime_r(&now, &day);
  std::string text(sizeof("2026-12-31") - 1, ' ');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%d", &day);
  return text;
}

bool is_plain(const AttentionShape& shape) {
  AttentionShape plain;
  plain.q_heads = shape.q_heads;
  plain.kv_heads = shape.kv_heads;
  plain.head_dim_qk = plain.head_dim_v = shape.head_dim_qk;
  plain.q_type = shape.q_type;
  plain.kv_type = shape.kv_type;
  plain.window_left = shape.window_left;
  plain.window_right = 0;
  plain.scale = shape.scale;
  return plain == shape;
}

bool is_of_interest(const Row& row) {
  const bool is_phase = row.suite == "prefill" || row.suite == "append" || row.suite == "decode";
  return is_phase && !row.peer && row.ms && row.lens == "even" && row.outliers == 0 &&
         !row.batch_invariant;
}

void add_row(const Row& row, const AttentionShape& shape, CalibrationMaker& maker) {
  const AxisValues fixed = attention_values(shape);
  const auto batch = static_cast<double>(row.batch), keys = static_cast<double>(row.kv_len);
  const auto queries = static_cast<double>(row.q_len);
  const double seconds = *row.ms * 1e-3;
  const double spread = (*row.ms_max - *row.ms_min) / 2.0 / *row.ms;
  if (row.suite == "decode")
    maker.add("attention_decode", fixed, {batch, keys}, seconds, spread);
  else
    maker.add("attention_prefill", fixed, {batch, keys - queries, queries}, seconds, spread);
}

}  // namespace

double spread_of(Samples samples) {
  std::ranges::sort(samples);
  return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2.0 / quantile(samples, 0.5);
}

AxisValues attention_values(const AttentionShape& shape) {
  return {{"q_type", std::string(name_of(shape.q_type))},
          {"kv_type", std::string(name_of(shape.kv_type))},
          {"q_heads", static_cast<double>(shape.q_heads)},
          {"kv_heads", static_cast<double>(shape.kv_heads)},
          {"head_dim", static_cast<double>(shape.head_dim_qk)},
          {"window", static_cast<double>(shape.window_left + 1)}};
}

const std::vector<GridAxis>& axes_of(const std::string& query) {
  static const GridAxis batch{.name = "batch", .unit = "requests"};
  static const std::map<std::string, std::vector<GridAxis>> axes{
      {"attention_prefill",
       {batch,
        {.name = "prefix", .unit = "cached tokens a request", .is_log = false},
        {.name = "q_len", .unit = "new tokens a request"}}},
      {"attention_decode", {batch, {.name = "kv_len", .unit = "tokens a request"}}},
      {"gemm",
       {{.name = "n", .unit = "columns"},
        {.name = "k", .unit = "summands"},
        {.name = "m", .unit = "rows"}}},
      {"layer_overhead", {{.name = "rows", .unit = "tokens"}}},
      {"first_prefill", {{.name = "rows", .unit = "tokens"}}}};
  return axes.at(query);
}

CalibrationMaker::Place& CalibrationMaker::place(const std::string& query, const AxisValues& fixed,
                                                 const std::vector<double>& at) {
  auto table = std::ranges::find_if(
      tables_, [&](const Table& each) { return each.query == query && each.fixed == fixed; });
  if (table == tables_.end()) table = tables_.insert(table, {query, fixed, {}});
  const auto found = std::ranges::find(table->places, at, &Place::at);
  if (found != table->places.end()) return *found;
  return table->places.emplace_back(Place{.at = at, .seconds = {}});
}

void CalibrationMaker::add(const std::string& query, const AxisValues& fixed,
                           const std::vector<double>& at, const Samples& seconds) {
  Samples& all = place(query, fixed, at).seconds;
  all.insert(all.end(), seconds.begin(), seconds.end());
}

void CalibrationMaker::add(const std::string& query, const AxisValues& fixed,
                           const std::vector<double>& at, double seconds, double spread) {
  Place& known = place(query, fixed, at);
  if (!known.seconds.empty()) return;
  known.seconds = {seconds};
  known.spread = spread;
}

std::vector<CalibrationTable> CalibrationMaker::tables() const {
  constexpr double kMicroseconds = 1e6;
  std::vector<CalibrationTable> tables;
  for (const Table& table : tables_) {
    std::vector<MeasuredPoint> points;
    for (const Place& place : table.places)
      points.push_back(
          {.at = place.at,
           .microseconds = mean(place.seconds) * kMicroseconds,
           .spread = place.seconds.size() > 1 ? spread_of(place.seconds) : place.spread});
    tables.push_back(
        {table.query, table.fixed, CalibrationGrid(axes_of(table.query), std::move(points))});
  }
  return tables;
}

Calibration own_calibration(const std::string& system, const std::string& command,
                            std::vector<CalibrationTable> tables) {
  return {{.name = "",
           .source = Calibration::Source::measured,
           .system = system,
           .framework = "headwise",
           .version = concat(version(), " ", revision()),
           .date = today(),
           .origin = command,
           .licence = "",
           .file = {}},
          std::move(tables)};
}

std::optional<Calibration> calibration_of(const BenchReport& report, const std::string& command) {
  CalibrationMaker maker;
  bool is_empty = true;
  for (const Row& row : report.rows) {
    if (!is_of_interest(row)) continue;
    const AttentionShape shape = parse_shape_spec(row.shape).shape;
    if (!is_plain(shape)) continue;
    add_row(row, shape, maker);
    is_empty = false;
  }
  if (is_empty) return std::nullopt;
  const DeviceInfo& device = report.device;
  CpuInfo cpu;
  cpu.name = device.name;
  return own_calibration(device.gpu ? system_name(*device.gpu) : system_name(cpu, device.threads),
                         command, maker.tables());
}

}  // namespace headwise::bench
