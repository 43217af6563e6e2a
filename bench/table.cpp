#include "bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/free_memory.h"

namespace headwise::bench {
namespace {

struct Column {
  const char* head;
  bool right;  ///< numbers
  std::string (*cell)(const Row&);
};

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// Three or four significant digits, whether it is microseconds or minutes.
std::string milliseconds(const std::optional<double>& value) {
  if (!value) return "-";
  return fmt::format("{:.{}f}", *value, *value < 10.0 ? 3 : *value < 100.0 ? 2 : 1);
}

constexpr std::array<Column, 17> kColumns{{
    {"suite", false, [](const Row& r) { return r.suite; }},
    {"batch", true, [](const Row& r) { return fmt::format("{}", r.batch); }},
    {"q_len", true, [](const Row& r) { return fmt::format("{}", r.q_len); }},
    {"kv_len", true, [](const Row& r) { return fmt::format("{}", r.kv_len); }},
    {"lens", false, [](const Row& r) { return r.lens; }},
    {"page", true, [](const Row& r) { return r.page ? fmt::format("{}", *r.page) : "-"; }},
    {"backend", false, [](const Row& r) { return r.backend; }},
    {"kernel row", false, [](const Row& r) { return r.kernel_row.empty() ? "-" : r.kernel_row; }},
    {"ms", true, [](const Row& r) { return milliseconds(r.ms); }},
    {"min", true, [](const Row& r) { return milliseconds(r.ms_min); }},
    {"max", true, [](const Row& r) { return milliseconds(r.ms_max); }},
    {"TFLOP/s", true, [](const Row& r) { return number(r.tflops, 3); }},
    {"GB/s", true, [](const Row& r) { return number(r.gbps, 1); }},
    {"limit", false, [](const Row& r) { return r.limit; }},
    {"fraction", true, [](const Row& r) { return number(r.fraction, 2); }},
    {"of peak", true, [](const Row& r) { return number(r.fraction_peak, 2); }},
    {"workspace", true,
     [](const Row& r) {
       return r.workspace_bytes ? format_bytes(static_cast<double>(*r.workspace_bytes)) : "-";
     }},
}};

std::string format_limits(const MachineLimits& limits) {
  std::string text =
      fmt::format("limits: read {:.1f} GB/s; F32 product {:.3f}, in registers {:.3f} TFLOP/s",
                  limits.read_bytes_per_s / 1e9, limits.f32_product / 1e12, limits.f32_fma / 1e12);
  if (limits.bf16_product)
    text += fmt::format("; BF16 product {:.3f}, in registers {:.3f} TFLOP/s",
                        *limits.bf16_product / 1e12, limits.bf16_dot.value_or(0.0) / 1e12);
  return text;
}

}  // namespace

std::string format_table(const BenchReport& report) {
  const DeviceInfo& device = report.device;
  std::string text =
      fmt::format("device: {} ({}), {} threads\n{}\n", device.name, device.instruction_sets,
                  device.threads, format_limits(report.limits));
  if (report.rows.empty()) return text;
  text += fmt::format("shape: {}; protocol: {}\n\n", report.rows.front().shape,
                      report.rows.front().protocol);
  std::array<std::size_t, kColumns.size()> widths{};
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    widths[c] = std::char_traits<char>::length(kColumns[c].head);
    for (const Row& row : report.rows)
      widths[c] = std::max(widths[c], kColumns[c].cell(row).size());
  }
  const auto add = [&](std::size_t c, const std::string& cell) {
    text += kColumns[c].right ? fmt::format("{:>{}}  ", cell, widths[c])
                              : fmt::format("{:<{}}  ", cell, widths[c]);
  };
  for (std::size_t c = 0; c < kColumns.size(); ++c) add(c, kColumns[c].head);
  text += "note\n";
  for (const Row& row : report.rows) {
    for (std::size_t c = 0; c < kColumns.size(); ++c) add(c, kColumns[c].cell(row));
    text += row.note;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace headwise::bench
