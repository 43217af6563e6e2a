#include "advisor/report/codesign_json.h"

#include <set>
#include <utility>

#include "advisor/report/advice_json.h"
#include "advisor/report/cells.h"
#include "advisor/report/json_cells.h"
#include "advisor/report/plan_json.h"
#include "core/check.h"

namespace headwise {
namespace {

using namespace json_cells;

Json parts_json(const StepTime& time) {
  Json parts = Json::array();
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const Estimate& part = time.parts[i];
    if (part && part.seconds == 0.0) continue;  // there is no such part
    Json json{{"name", name_of(static_cast<StepPart>(i))}};
    json.update(to_json(part));
    parts.push_back(std::move(json));
  }
  return parts;
}

Json context_json(const CodesignQuestion& question, const ContextTimes& row) {
  const Estimate prefill = row.prefill.total(), decode = row.decode.total();
  const Estimate both = cells::label_of(prefill, decode);
  const Estimate append = row.append ? row.append->total() : unknown(row.why_no_append);
  Json json{{"context", row.context},
            {"beyond_context", row.context > question.model.context},
            {"prefill_ms", ms(prefill)},
            {"attention_share_prefill", or_null(row.prefill.attention_share())},
            {"append_ms", ms(append)},
            {"attention_share_append",
             row.append ? or_null(row.append->attention_share()) : Json(nullptr)},
            {"decode_ms", ms(decode)},
            {"attention_share_decode", or_null(row.decode.attention_share())},
            {"parts_prefill", parts_json(row.prefill)},
            {"parts_append", row.append ? parts_json(*row.append) : Json(nullptr)},
            {"parts_decode", parts_json(row.decode)},
            {"ttft_ms", ms(row.first_token())},
            {"tpot_ms", ms(decode)},
            {"kv_bytes", row.kv_bytes},
            {"kv_bytes_in_pages", row.kv_bytes_in_pages}};
  const bool fits = row.largest_batch.requests > 0;
  json["largest_batch"] = fits ? Json(row.largest_batch.requests) : Json(nullptr);
  const Estimate& at_largest = row.decode_at_largest;
  json["tpot_at_largest_batch_ms"] = ms(at_largest);
  json["throughput_tok_s"] =
      at_largest ? Json(static_cast<double>(row.largest_batch.requests) / at_largest.seconds)
                 : Json(nullptr);
  json["source"] = both ? Json(both.source()) : Json(nullptr);
  json["error"] = both ? Json(both.error) : Json(nullptr);
  for (const auto& [phase, time] : {std::pair("prefill", &prefill), std::pair("decode", &decode),
                                    std::pair("throughput", &at_largest)}) {
    json[concat("source_", phase)] = *time ? Json(time->source()) : Json(nullptr);
    json[concat("error_", phase)] = *time ? Json(time->error) : Json(nullptr);
  }
  const std::string& why_not = both ? row.largest_batch.why_not : both.why_not;
  json["why_not"] = why_not.empty() ? Json(nullptr) : Json(why_not);
  if (!row.append) json["why_no_append"] = row.why_no_append;
  return json;
}

Json crossover_json(const CodesignReport& report) {
  const auto context = [](const Crossover& crossover) {
    return crossover.context ? Json(*crossover.context) : Json(nullptr);
  };
  Json json{{"prefill_context", context(report.prefill_crossover)},
            {"decode_context", context(report.decode_crossover)},
            {"why_not", nullptr}};
  std::string why_not;
  for (const auto& [phase, crossover] : {std::pair("prefill", &report.prefill_crossover),
                                         std::pair("decode", &report.decode_crossover)})
    if (!crossover->context)
      why_not += concat(why_not.empty() ? "" : "; ", phase, ": ", crossover->why_not);
  if (!why_not.empty()) json["why_not"] = why_not;
  return json;
}

/// FLOPs of core attention a second, if only exponentials counted.
Json exponentials_ceiling(const CodesignQuestion& question, const Hardware& hardware) {
  if (!hardware.exp_per_s) return nullptr;
  const CoreAttention core{.attention = heaviest_attention(question.model).layer.attention,
                           .tokens = {.prefix = 0, .count = question.model.context}};
  const DeviceWork work = core_attention_work(core);
  if (work.exponentials == 0.0) return nullptr;
  return hardware.exp_per_s->value * work.flops / work.exponentials;
}

Json roofline_json(const CodesignQuestion& question, const CodesignReport& report,
                   const Hardware& hardware) {
  const std::optional<double> compute = product_rate(hardware, question.deployment.q_type);
  const double memory = hardware.memory_bytes_per_s->value;
  Json json{{"ridge", compute ? Json(*compute / memory) : Json(nullptr)},
            {"compute_flops", or_null(compute)},
            {"memory_bytes_per_s", memory},
            {"exp_flops", exponentials_ceiling(question, hardware)},
            {"points", Json::array()}};
  for (const RooflinePoint& point : report.roofline) {
    const Estimate& time = point.time;
    json["points"].push_back(
        {{"name", point.name},
         {"phase", point.phase},
         {"intensity", point.intensity},
         {"flops_per_s", time ? Json(point.flops / time.seconds) : Json(nullptr)},
         {"limit", name_of(point.limit)},
         {"source", time ? Json(time.source()) : Json(nullptr)},
         {"error", time ? Json(time.error) : Json(nullptr)}});
  }
  return json;
}

Json values_json(const AxisValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values)
    std::visit([&, &key = name](const auto& held) { json[key] = held; }, value);
  return json;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Each operator once, where it first stands.
class ProvenanceList {
 public:
  void add(const StepTime& time, const std::string& phase) {
    for (std::size_t i = 0; i < kStepParts; ++i)
      for (const auto& each : time.parts[i].of)
        if (seen_.insert(each->what).second)
          list_.push_back(one(*each, concat(name_of(static_cast<StepPart>(i)), ", ", phase)));
  }
  Json take() { return std::move(list_); }

 private:
  static Json one(const Provenance& from, const std::string& where) {
    return {{"what", where},
            {"operator", from.what},
            {"file", from.file.string()},
            {"query", text_or_null(from.query)},
            {"at", values_json(from.at)},
            {"system", text_or_null(from.system)},
            {"framework", text_or_null(from.framework)},
            {"version", text_or_null(from.version)},
            {"basis", from.basis},
            {"source", from.source},
            {"error", from.error}};
  }

  std::set<std::string> seen_;
  Json list_ = Json::array();
};

Json provenance_json(const CodesignReport& report) {
  ProvenanceList list;
  for (const ContextTimes& row : report.contexts) {
    const std::string context = short_size(row.context);
    list.add(row.prefill, "prefill " + context);
    if (row.append) list.add(*row.append, "append " + context);
    list.add(row.decode, "decode " + context);
  }
  return list.take();
}

}  // namespace

Estimate label_of(const Estimate& prefill, const Estimate& decode) {
  if (!prefill || !decode) return prefill ? decode : prefill;
  Estimate both = prefill.scaled(1.0 / prefill.seconds) + decode.scaled(1.0 / decode.seconds);
  both.error = std::max(prefill.error, decode.error);
  return both;
}

Json to_json(const Estimate& estimate) {
  if (!estimate)
    return {
        {"ms", nullptr}, {"source", nullptr}, {"error", nullptr}, {"why_not", estimate.why_not}};
  return {{"ms", estimate.seconds * kMsPerSecond},
          {"source", estimate.source()},
          {"error", estimate.error}};
}

Json codesign_json(const CodesignQuestion& question, const CodesignReport& report,
                   const DeviceTimes& times) {
  Json model{{"path", question.path}, {"name", question.name}};
  model.update(to_json(question.model));
  Json json{{"model", std::move(model)},
            {"hardware", to_json(times.hardware())},
            {"inputs", Json::array()},
            {"contexts", Json::array()}};
  for (const CodesignInput& input : question.inputs)
    json["inputs"].push_back({{"name", input.name},
                              {"value", input.value},
                              {"source", input.source},
                              {"why", text_or_null(input.why)}});
  for (const ContextTimes& row : report.contexts)
    json["contexts"].push_back(context_json(question, row));
  json["crossover"] = crossover_json(report);
  json["roofline"] = roofline_json(question, report, times.hardware());
  json["guidelines"] = Json::array();
  for (const Guideline& each : report.guidelines) json["guidelines"].push_back(to_json(each));
  json["sweeps"] = Json::array();
  for (const Sweep& each : report.sweeps) json["sweeps"].push_back(to_json(each));
  json["plans"] = plans_json(question, report, times.hardware());
  json["workload"] = workload_json(question, report);
  json["provenance"] = provenance_json(report);
  return json;
}

}  // namespace headwise
