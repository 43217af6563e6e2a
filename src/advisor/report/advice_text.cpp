#include "advisor/report/advice_text.h"

#include "advisor/report/cells.h"
#include "core/check.h"

namespace headwise {
namespace {

using namespace cells;

constexpr std::size_t kValueColumn = 12, kColumn = 10, kLongestValue = 64;

std::string table_line(const std::string& value, const std::vector<std::string>& cells) {
  std::string line = concat("  ", left(value, kValueColumn));
  for (const std::string& cell : cells) line += concat(" ", right(cell, kColumn));
  return line;
}

std::string row_text(const SweepRow& row) {
  const std::string value = concat(row.value.substr(0, kLongestValue), row.is_model ? " *" : "");
  if (!row.why_not.empty()) return concat("  ", left(value, kValueColumn), " ", row.why_not, "\n");
  const ContextTimes& at = row.times;
  const Estimate prefill = at.prefill.total(), decode = at.decode.total();
  const std::int64_t batch = at.largest_batch.requests;
  return concat(table_line(value, {milliseconds(prefill), milliseconds(decode),
                                   percent(at.decode.attention_share()), gibibytes(at.kv_bytes),
                                   batch > 0 ? concat(batch) : std::string("-"),
                                   tokens_a_second(batch, at.decode_at_largest)}),
                "  ", label(label_of(prefill, decode)), "\n");
}

}  // namespace

std::string guidelines_text(const std::vector<Guideline>& guidelines) {
  std::string text = "\nguidelines\n";
  for (const Guideline& each : guidelines) {
    text += concat("  ", left(each.name, 19), " ", name_of(each.verdict), ": ", each.reason, "\n");
    if (!each.gain.empty()) text += concat(left("", 22), each.gain, "\n");
    if (!each.check.empty()) text += concat(left("", 22), "check: ", each.check, "\n");
  }
  return text;
}

std::string sweep_text(const Sweep& sweep) {
  std::string text = concat("\n", name_of(sweep.parameter), " at ", short_size(sweep.context),
                            ", the rest of the model unchanged; * is the model's own\n");
  text += table_line("", {"prefill ms", "decode ms", "attention", "KV GiB", "batch", "tok/s"});
  text += "\n";
  for (const SweepRow& row : sweep.rows) text += row_text(row);
  return text;
}

}  // namespace headwise
