#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advisor/engine_log/engine_log.h"
#include "advisor/engine_log/log_record.h"

namespace headwise {

enum class Taken : std::uint8_t { nothing, words, start };

/// One engine's last start, as its records come in. Memory is bounded whatever they hold.
class EngineStart {
 public:
  Taken take(LogRecord record, std::int64_t line);
  /// Whether the last record's words said that the next line is a print of fields.
  bool print_follows() const { return print_follows_; }
  void take_print(std::string_view text, std::int64_t line);

  std::int64_t count() const { return log_.starts; }
  EngineLog result() && { return std::move(log_); }

 private:
  bool take_words(const FixedWords& words, const LogRecord& record, std::int64_t line);
  bool begins_start(StartRank rank, const LogRecord& record);
  void take_fields(std::string_view text, ServingEngine engine, std::string_view outer);
  void keep(LogTopic topic, std::string_view value);
  void keep_backend(LogTopic topic, const std::string& value);
  /// Once, and up to a few.
  void add(std::vector<LoggedValue>& list, std::string_view value) const;

  EngineLog log_;
  std::set<std::pair<StartRank, std::string>> marks_;  // of this start, with processes
  StartRank highest_ = 0;
  std::size_t mark_text_ = 0;  // of the last mark, hashed
  bool draft_ = false;
  bool print_follows_ = false;
  std::int64_t line_ = 0;
};

}  // namespace headwise
