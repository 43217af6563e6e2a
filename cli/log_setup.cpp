#include "cli/log_setup.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/progress.h"
#include "core/log.h"

namespace headwise::cli {

void send_logs_to_stderr() {
  auto logger = spdlog::stderr_logger_mt("headwise");
  logger->set_pattern("%v");
  set_log_sink([logger](LogLevel level, std::string_view line) {
    clear_progress();
    switch (level) {
      case LogLevel::debug:
        return logger->debug("{}", line);
      case LogLevel::info:
        return logger->info("{}", line);
      case LogLevel::warning:
        return logger->warn("headwise: warning: {}", line);
    }
  });
}

}  // namespace headwise::cli
