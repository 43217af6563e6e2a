#pragma once

namespace headwise::cli {

/// To be called first. Standard streams that the caller closed become ones that cannot be used, so
/// that no file that is opened later takes their place; a reader that went away is an error to
/// report and not a signal.
void secure_standard_streams();

/// Writes out what is buffered for stdout. Throws Error(invalid_input) with the system's reason
/// where anything written since the start was lost.
void flush_stdout();

}  // namespace headwise::cli
