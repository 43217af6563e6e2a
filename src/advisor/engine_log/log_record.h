#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

enum class ServingEngine : std::uint8_t { vllm, sglang, tensorrt_llm };

const char* name_of(ServingEngine engine);  ///< as its makers spell it

/// A line that an engine's logger wrote. Views are into the line.
struct LogRecord {
  ServingEngine engine;
  std::string_view file;     ///< that logged it, without folders: "cuda.py"; empty: not said
  std::string_view process;  ///< "EngineCore_DP0", without its number; empty: not said
  std::string_view message;  ///< all that follows the logger's own header
};

/// The record that `line` is: an engine's logger's header, behind nothing but what carries logs (of
/// containers, Kubernetes, the journal, mpirun, srun). A header further on, as in a prompt that the
/// line quotes, makes no record.
std::optional<LogRecord> read_log_record(std::string_view line);

/// `line` without the escape sequences of terminals.
std::string without_colours(std::string_view line);

}  // namespace headwise
