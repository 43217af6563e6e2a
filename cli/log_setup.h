#pragma once

namespace headwise::cli {

/// Sends the library's log lines to stderr: information as it is, warnings behind
/// "headwise: warning: ".
void send_logs_to_stderr();

}  // namespace headwise::cli
