#include <cstdio>

#include "advisor/report/codesign.h"
#include "advisor/report/plan_text.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Three digits that count.
std::string milliseconds(const Estimate& estimate) {
  if (!estimate) return "-";
  const double ms = estimate.seconds * 1e3;
  return number(ms, ms < 10.0 ? 2 : ms < 100.0 ? 1 : 0);
}

std::string percent(const std::optional<double>& share) {
  return share ? concat(number(100.0 * *share, 1), " %") : std::string("-");
}

std::string right(const std::string& text, std::size_t width) {
  return concat(std::string(text.size() < width ? width - text.size() : 0, ' '), text);
}

std::string left(const std::string& text, std::size_t width) {
  return concat(text, std::string(text.size() < width ? width - text.size() : 0, ' '));
}

std::string label(const Estimate& estimate) {
  return estimate ? concat(estimate.source(), " +-", number(100.0 * estimate.error, 0), " %")
                  : std::string("unknown");
}

constexpr std::size_t kColumn = 10;

std::string head_line() {
  std::string line = left("context", 9);
  for (const char* head : {"prefill ms", "attention", "append ms", "decode ms", "attention",
                           "KV GiB", "in pages", "batch", "tok/s"})
    line += concat(" ", right(head, kColumn));
  return concat(line, "\n");
}

std::string context_line(const ContextTimes& row) {
  const std::int64_t batch = row.largest_batch.requests;
  const Estimate& at_largest = row.decode_at_largest;
  std::string line = left(short_size(row.context), 9);
  for (const std::string& cell :
       {milliseconds(row.prefill.total()), percent(row.prefill.attention_share()),
        row.append ? milliseconds(row.append->total()) : std::string("-"),
        milliseconds(row.decode.total()), percent(row.decode.attention_share()),
        number(static_cast<double>(row.kv_bytes) / kGiB, 2),
        number(static_cast<double>(row.kv_bytes_in_pages) / kGiB, 2),
        batch > 0 ? concat(batch) : std::string("-"),
        at_largest ? number(static_cast<double>(batch) / at_largest.seconds, 0) : std::string("-")})
    line += concat(" ", right(cell, kColumn));
  return concat(line, "\n");
}

std::string parts_text(const ContextTimes& row) {
  std::string text = concat("\nat ", short_size(row.context), ", ms\n");
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const Estimate &prefill = row.prefill.parts[i], &decode = row.decode.parts[i];
    if (prefill && decode && prefill.seconds + decode.seconds == 0.0) continue;
    text += concat("  ", left(name_of(static_cast<StepPart>(i)), 22), "prefill ",
                   right(milliseconds(prefill), 8), "  ", left(label(prefill), 36), "decode ",
                   right(milliseconds(decode), 8), "  ", label(decode), "\n");
  }
  return text;
}

std::string crossover_text(const char* phase, const Crossover& crossover) {
  if (!crossover.context) return concat("  ", phase, ": ", crossover.why_not, "\n");
  return concat("  ", phase, ": from ", *crossover.context, " tokens on\n");
}

std::string inputs_text(const CodesignQuestion& question) {
  std::string text;
  for (const CodesignInput& input : question.inputs)
    text += concat("  ", left(input.name, 13), " ", left(input.value, 15), " ", input.source,
                   input.why.empty() ? "" : ": ", input.why, "\n");
  return text;
}

}  // namespace

std::string codesign_text(const CodesignQuestion& question, const CodesignReport& report,
                          const Hardware& hardware) {
  std::string text = concat(question.name, " on ", hardware.title, "\n\n", inputs_text(question));
  for (const Assumption& assumption : question.model.assumptions)
    text +=
        concat("  assumed: ", assumption.field, " ", assumption.value, " (", assumption.why, ")\n");
  text += concat("\n", head_line());
  for (const ContextTimes& row : report.contexts) text += context_line(row);
  text +=
      "attention: the core's part of what layers compute, without output matrix, communication and "
      "overhead\n";
  text += parts_text(report.contexts.back());
  text += concat("\nattention passes a half\n", crossover_text("prefill", report.prefill_crossover),
                 crossover_text("decode", report.decode_crossover));
  for (const Estimate& time :
       {report.contexts.back().prefill.total(), report.contexts.back().decode.total()})
    if (!time) text += concat("unknown: ", time.why_not, "\n");
  for (const ContextTimes& row : report.contexts)
    if (!row.largest_batch.why_not.empty())
      text +=
          concat("no batch at ", short_size(row.context), ": ", row.largest_batch.why_not, "\n");
  text += plans_text(question, report.plans);
  if (report.workload) text += workload_text(*question.workload, *report.workload);
  return text;
}

}  // namespace headwise
