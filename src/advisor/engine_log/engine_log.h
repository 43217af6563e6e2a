#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "advisor/engine_log/engine_words.h"

namespace headwise {

struct LoggedValue {
  std::string value;
  std::int64_t line = 0;  ///< from 1
};

/// What a log says of the last start that it holds. Nothing is filled in: a topic that is absent
/// was not logged.
struct EngineLog {
  ServingEngine engine = ServingEngine::vllm;
  std::int64_t start_line = 0;               ///< the first record of the start
  std::int64_t starts = 0;                   ///< of this engine in the log
  std::vector<ServingEngine> other_engines;  ///< that started earlier in the same log
  std::map<LogTopic, LoggedValue> facts;
  std::vector<LoggedValue> other_backends;  ///< that the same start named besides
  // What the engine said of backends that it did not take.
  std::vector<LoggedValue> passed_over;
  std::vector<LoggedValue> costly_settings;
  std::int64_t lines = 0;  ///< of the log

  const LoggedValue* find(LogTopic topic) const;
};

/// Reads a log of a vLLM, SGLang or TensorRT-LLM server to its end, however long, in bounded
/// memory; of a line, what lies past 256 KiB is not looked at. Throws Error, one line, if no record
/// of an engine's start is found, or if the text is UTF-16.
EngineLog read_engine_log(std::istream& log);

}  // namespace headwise
