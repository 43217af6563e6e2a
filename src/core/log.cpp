#include "core/log.h"

#include <utility>

namespace headwise {
namespace {

LogSink& current_sink() {
  static LogSink sink;
  return sink;
}

}  // namespace

void set_log_sink(LogSink sink) { current_sink() = std::move(sink); }

void log(LogLevel level, std::string_view line) {
  if (current_sink()) current_sink()(level, line);
}

}  // namespace headwise
