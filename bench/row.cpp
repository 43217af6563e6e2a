#include "bench/row.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headwise::bench {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json tera(const std::optional<double>& flops) {
  return flops ? Json(*flops / 1e12) : Json(nullptr);
}

/// null, or what is wanted of the row: [{"what", "least" or "most", "measured", "met"}]; a bound is
/// null where nothing is.
Json to_json(const std::vector<Judged>& goals) {
  if (goals.empty()) return nullptr;
  Json list = Json::array();
  for (const Judged& goal : goals)
    list.push_back(
        {{"what", goal.what},
         {goal.at_most ? "most" : "least", goal.bound > 0.0 ? Json(goal.bound) : Json(nullptr)},
         {"measured", or_null(goal.measured)},
         {"met", or_null(goal.met())}});
  return list;
}

Json cpu_json(const DeviceInfo& device) {
  return {{"name", device.name},
          {"instruction_sets", device.instruction_sets},
          {"threads", device.threads},
          {"memory_bytes", device.memory_bytes}};
}

/// With the processor that the reference ran on.
Json gpu_json(const DeviceInfo& device) {
  const GpuInfo& gpu = *device.gpu;
  return {{"name", gpu.name},
          {"device", headwise::to_string(Device{DeviceType::cuda, device.ordinal})},
          {"compute_capability", gpu.compute_capability},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes},
          {"l2_bytes", gpu.l2_bytes},
          {"clock_mhz", gpu.clock_mhz},
          {"driver", device.driver},
          {"host", cpu_json(device)}};
}

Json to_json(const MachineLimits& limits) {
  return {{"read_gbps", limits.read_bytes_per_s / 1e9},
          {"f32_product_tflops", limits.f32_product / 1e12},
          {"f32_fma_tflops", limits.f32_fma / 1e12},
          {"bf16_product_tflops", tera(limits.bf16_product)},
          {"bf16_dot_tflops", tera(limits.bf16_dot)}};
}

/// Peaks are at the clock of the products.
Json gpu_limits_json(const BenchReport& report) {
  const GpuLimits& limits = report.gpu_limits;
  const HardwareLimits peaks = report.probed();
  const std::optional<double>& read_peak = peaks.peak_read_bytes_per_s;
  return {{"read_gbps", limits.read_bytes_per_s / 1e9},
          {"copy_gbps", limits.copy_bytes_per_s / 1e9},
          {"read_peak_gbps", read_peak ? Json(*read_peak / 1e9) : Json(nullptr)},
          {"bf16_product_tflops", tera(limits.bf16_product)},
          {"f16_product_tflops", tera(limits.f16_product)},
          {"f32_product_tflops", tera(limits.f32_product)},
          {"bf16_peak_tflops", tera(peaks.bf16.peak)},
          {"f32_peak_tflops", tera(peaks.f32.peak)},
          {"sm_mhz", limits.mhz}};
}

}  // namespace

std::string lens_text(const Row& row) {
  return row.outliers > 0 ? row.lens + ", outliers " + std::to_string(row.outliers) : row.lens;
}

void add_note(Row& row, const std::string& clause) {
  row.note += (row.note.empty() || clause.empty() ? "" : "; ") + clause;
}

bool BenchReport::is_void() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.fraction_peak.value_or(0.0) > 1.0; });
}

HardwareLimits BenchReport::probed() const {
  return device.gpu ? hardware_limits(*device.gpu, gpu_limits, gpu_limits.mhz) : limits.hardware();
}

Json to_json(const Row& row) {
  return {{"suite", row.suite},
          {"backend", row.backend},
          {"kernel_row", text_or_null(row.kernel_row)},
          {"device", row.device},
          {"shape", row.shape},
          {"batch", row.batch},
          {"q_len", row.q_len},
          {"kv_len", row.kv_len},
          {"new_tokens", row.new_tokens},
          {"lens", lens_text(row)},
          {"page", or_null(row.page)},
          {"protocol", row.protocol},
          {"sm_mhz", or_null(row.sm_mhz)},
          {"ms", or_null(row.ms)},
          {"ms_min", or_null(row.ms_min)},
          {"ms_max", or_null(row.ms_max)},
          {"tflops", or_null(row.tflops)},
          {"gbps", or_null(row.gbps)},
          {"limit", row.limit},
          {"fraction", or_null(row.fraction)},
          {"fraction_peak", or_null(row.fraction_peak)},
          {"workspace_bytes", or_null(row.workspace_bytes)},
          {"peer", row.peer},
          {"goal", to_json(row.goals)},
          {"note", text_or_null(row.note)}};
}

Json to_json(const CacheRow& row) {
  return {{"name", row.name},
          {"what", row.what},
          {"tokens", row.tokens},
          {"ns", row.ns},
          {"ns_min", row.ns_min},
          {"ns_max", row.ns_max},
          {"goal", to_json(row.judged())}};
}

Json to_json(const BenchReport& report) {
  const bool gpu = report.device.gpu.has_value();
  Json rows = Json::array();
  for (const Row& row : report.rows) rows.push_back(to_json(row));
  Json document{{"device", gpu ? gpu_json(report.device) : cpu_json(report.device)},
                {"limits", gpu ? gpu_limits_json(report) : to_json(report.limits)},
                {"rows", rows}};
  for (const Claim& claim : report.claims) document["claims"].push_back(to_json(claim));
  for (const CacheRow& row : report.cache) document["cache"].push_back(to_json(row));
  return document;
}

}  // namespace headwise::bench
