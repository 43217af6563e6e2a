#include "advisor/engine_log/engine_start.h"

#include <algorithm>
#include <functional>

#include "advisor/engine_log/repr_fields.h"
#include "advisor/engine_log/text_cursor.h"

namespace headwise {
namespace {

constexpr std::size_t kLongestValue = 200;
constexpr std::size_t kMostOthers = 16;
constexpr std::size_t kMostMarks = 4096;

/// vLLM's logo, in blocks and spaces, stands before the version.
std::string_view without_logo(std::string_view message) {
  TextCursor at(message);
  at.take([](char c) { return c == ' ' || static_cast<unsigned char>(c) >= 0x80; });
  return at.rest();
}

/// Fit for a terminal: what is logged may be anybody's.
std::string without_controls(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return clean;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Enumerators and types without what they belong to: "torch.bfloat16", "AttentionBackendEnum.X".
std::string_view without_scope(std::string_view value) {
  for (const std::string_view scope : {"torch.", "AttentionBackendEnum.", "_Backend."})
    if (value.starts_with(scope)) return value.substr(scope.size());
  return value;
}

/// Said of one model's attention, whose draft model's may differ.
bool is_a_models(LogTopic topic) {
  return topic == LogTopic::flash_attention || topic == LogTopic::head_dim ||
         topic == LogTopic::latent;
}

bool is_backend(LogTopic topic) {
  return topic == LogTopic::backend || topic == LogTopic::prefill_backend ||
         topic == LogTopic::decode_backend;
}

bool logs_it(const FixedWords& words, const LogRecord& record) {
  if (words.engine != record.engine) return false;
  if (words.files.empty()) return true;
  const std::size_t at = words.files.find(record.file);
  return !record.file.empty() && at != std::string_view::npos && at > 0 &&
         words.files[at - 1] == ' ' && words.files[at + record.file.size()] == ' ';
}

}  // namespace

Taken EngineStart::take(LogRecord record, std::int64_t line) {
  record.message = without_logo(record.message);
  Taken taken = Taken::nothing;
  print_follows_ = false;
  for (const FixedWords& words : fixed_words()) {
    if (!logs_it(words, record)) continue;
    const std::int64_t starts = log_.starts;
    if (!take_words(words, record, line)) continue;
    if (log_.starts > starts)
      taken = Taken::start;
    else if (taken == Taken::nothing)
      taken = Taken::words;
    print_follows_ = print_follows_ || words.reading == Reading::print_next;
  }
  return taken;
}

bool EngineStart::begins_start(StartRank rank, const LogRecord& record) {
  if (rank == 0) return log_.starts == 0;
  // SGLang's Engine prints its arguments twice; their random seed differs from start to start.
  const std::size_t text = std::hash<std::string_view>{}(record.message);
  const bool repeats = record.engine == ServingEngine::sglang && text == mark_text_;
  mark_text_ = text;
  if (repeats) return false;
  if (marks_.size() >= kMostMarks) marks_.clear();
  const std::pair mark{rank, std::string(record.process)};
  const bool again = rank < highest_ || marks_.contains(mark);
  const bool begins = log_.starts == 0 || again;
  if (again) {
    marks_.clear();
    highest_ = 0;
  }
  marks_.insert(mark);
  highest_ = std::max(highest_, rank);
  return begins;
}

bool EngineStart::take_words(const FixedWords& words, const LogRecord& record, std::int64_t line) {
  TextCursor at(record.message);
  if (!at.skip(words.before)) return false;
  std::string_view value;
  std::string_view rest = at.rest();
  switch (words.reading) {
    case Reading::value:
    case Reading::fields_after:
      if (!at.take_until(words.after, kLongestValue, value)) return false;
      break;
    case Reading::last:
      if (!rest.ends_with(words.after)) return false;
      value = rest.substr(0, rest.size() - words.after.size());
      if (value.size() > kLongestValue) return false;
      break;
    case Reading::within:
      if (!at.take_until(words.after, std::string_view::npos, value)) return false;
      value = at.take([](char c) { return c != ',' && c != '.' && c != ')'; }, kLongestValue);
      break;
    case Reading::constant:
      value = words.after;
      break;
    case Reading::whole:
      value = record.message;
      break;
    case Reading::fields:
    case Reading::print_next:
    case Reading::mark:
    case Reading::draft:
      break;
  }
  if (begins_start(words.rank, record)) {
    EngineLog next;
    next.starts = log_.starts + 1;
    next.start_line = line;
    next.engine = record.engine;
    // A version is logged before the mark of the start that it belongs to, or again after it.
    if (const LoggedValue* version = log_.find(LogTopic::version))
      next.facts.emplace(LogTopic::version, *version);
    log_ = std::move(next);
    draft_ = false;
  }
  line_ = line;
  if (words.topic) keep(*words.topic, value);
  if (words.reading == Reading::draft) draft_ = true;
  if (words.reading == Reading::fields || words.reading == Reading::fields_after ||
      words.reading == Reading::print_next)
    take_fields(at.rest(), record.engine, "");
  return true;
}

void EngineStart::take_print(std::string_view text, std::int64_t line) {
  line_ = line;
  take_fields(text, ServingEngine::tensorrt_llm, "");
}

void EngineStart::take_fields(std::string_view text, ServingEngine engine, std::string_view outer) {
  for_each_repr_field(text, [&](std::string_view name, std::string_view value) {
    if (outer.empty() && value.starts_with("KvCacheConfig(")) {
      take_fields(value.substr(value.find('(') + 1), engine, "kv_cache_config.");
      return;
    }
    for (const FieldName& field : field_names())
      if (field.engine == engine && field.name.starts_with(outer) &&
          field.name.substr(outer.size()) == name)
        keep(field.topic, value);
  });
}

void EngineStart::keep(LogTopic topic, std::string_view text) {
  const std::string value = without_controls(without_scope(trimmed(text)).substr(0, kLongestValue));
  if (value.empty() || value == "None") return;
  if (draft_ && (is_backend(topic) || is_a_models(topic))) return;
  if (topic == LogTopic::passed_over) return add(log_.passed_over, value);
  if (topic == LogTopic::costly_setting) return add(log_.costly_settings, value);
  if (is_backend(topic)) return keep_backend(topic, value);
  LoggedValue& fact = log_.facts[topic];
  // Later TensorRT-LLM adds " (backend: cuda)".
  if (topic == LogTopic::version) {
    fact = {value.substr(0, value.find(' ')), line_};
    return;
  }
  // "auto" asks for a choice; a value beside it is what was chosen. Workers repeat what is known.
  if (!fact.value.empty() && (value == "auto" || value == fact.value)) return;
  fact = {value, line_};
}

void EngineStart::keep_backend(LogTopic topic, const std::string& value) {
  LoggedValue& fact = log_.facts[topic];
  if (value == fact.value) return;
  // vLLM logs a line a kind of layers, the model's first ones first; the others change their minds.
  if (fact.value.empty() || log_.engine != ServingEngine::vllm) {
    fact = {value, line_};
    return;
  }
  add(log_.other_backends, value);
}

void EngineStart::add(std::vector<LoggedValue>& list, std::string_view value) const {
  const bool known =
      std::ranges::any_of(list, [&](const LoggedValue& each) { return each.value == value; });
  if (!known && list.size() < kMostOthers) list.push_back({std::string(value), line_});
}

}  // namespace headwise
