#include "advisor/report/advice_json.h"

#include "advisor/report/cells.h"
#include "advisor/report/json_cells.h"

namespace headwise {
namespace {

using namespace json_cells;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ratio(const SpeedUp& speed_up) { return speed_up ? Json(speed_up.ratio) : Json(nullptr); }
Json error(const SpeedUp& speed_up) { return speed_up ? Json(speed_up.error) : Json(nullptr); }

Json gain_json(const Gain& gain) {
  return {{"change", gain.change},
          {"phase", gain.phase},
          {"context", gain.context},
          {"batch", gain.batch},
          {"ratio_attention", ratio(gain.attention)},
          {"ratio_total", ratio(gain.total)},
          {"source", text_or_null(gain.total.source)},
          {"error", error(gain.total)},
          {"error_attention", error(gain.attention)},
          {"source_attention", text_or_null(gain.attention.source)},
          {"why_not", text_or_null(gain.total.why_not)}};
}

Json row_json(const SweepRow& row) {
  const bool is_known = row.why_not.empty();
  const ContextTimes& at = row.times;
  const Estimate prefill = is_known ? at.prefill.total() : unknown(row.why_not);
  const Estimate decode = is_known ? at.decode.total() : unknown(row.why_not);
  const Estimate step = is_known ? at.decode_at_largest : unknown(row.why_not);
  const Estimate both = cells::label_of(prefill, decode);
  const auto share = is_known ? at.decode.attention_share() : std::nullopt;
  const std::int64_t batch = at.largest_batch.requests;
  return {
      {"value", row.value},
      {"is_model", row.is_model},
      {"prefill_ms", ms(prefill)},
      {"decode_ms", ms(decode)},
      {"attention_share_decode", share ? Json(*share) : Json(nullptr)},
      {"kv_bytes", is_known ? Json(at.kv_bytes) : Json(nullptr)},
      {"largest_batch", batch > 0 ? Json(batch) : Json(nullptr)},
      {"throughput_tok_s", step ? Json(static_cast<double>(batch) / step.seconds) : Json(nullptr)},
      {"source", both ? Json(both.source()) : Json(nullptr)},
      {"error", both ? Json(both.error) : Json(nullptr)},
      {"why_not", text_or_null(both ? at.largest_batch.why_not : both.why_not)}};
}

}  // namespace

Json to_json(const Guideline& guideline) {
  Json json{{"name", guideline.name},     {"verdict", name_of(guideline.verdict)},
            {"reason", guideline.reason}, {"gain", text_or_null(guideline.gain)},
            {"gains", Json::array()},     {"check", text_or_null(guideline.check)}};
  for (const Gain& gain : guideline.gains) json["gains"].push_back(gain_json(gain));
  return json;
}

Json to_json(const Sweep& sweep) {
  Json json{{"parameter", name_of(sweep.parameter)}, {"context", sweep.context}};
  json["rows"] = Json::array();
  for (const SweepRow& row : sweep.rows) json["rows"].push_back(row_json(row));
  return json;
}

}  // namespace headwise
