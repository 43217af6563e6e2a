#include "advisor/report/advice_text.h"
#include "advisor/report/cells.h"
#include "advisor/report/codesign.h"
#include "advisor/report/plan_text.h"
#include "core/check.h"

namespace headwise {
namespace {

using namespace cells;

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
  std::string line = left(short_size(row.context), 9);
  for (const std::string& cell :
       {milliseconds(row.prefill.total()), percent(row.prefill.attention_share()),
        row.append ? milliseconds(row.append->total()) : std::string("-"),
        milliseconds(row.decode.total()), percent(row.decode.attention_share()),
        gibibytes(row.kv_bytes), gibibytes(row.kv_bytes_in_pages),
        batch > 0 ? concat(batch) : std::string("-"),
        tokens_a_second(batch, row.decode_at_largest)})
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
  text += guidelines_text(report.guidelines);
  for (const Sweep& each : report.sweeps) text += sweep_text(each);
  text += plans_text(question, report.plans);
  if (report.workload) text += workload_text(*question.workload, *report.workload);
  return text;
}

}  // namespace headwise
