#pragma once

#include <functional>
#include <string_view>

namespace headwise {

enum class LogLevel { debug, info, warning };

/// The program decides where lines go; without a sink they are dropped. Set once, before other
/// threads.
using LogSink = std::function<void(LogLevel, std::string_view)>;
void set_log_sink(LogSink sink);
void log(LogLevel level, std::string_view line);

}  // namespace headwise
