#include "advisor/engine_log/log_record.h"

#include <array>

#include "advisor/engine_log/text_cursor.h"

namespace headwise {
namespace {

constexpr std::size_t kLongestName = 128;  // of hosts, containers, processes, files

bool is_name(char c) {
  return TextCursor::is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '@' ||
         c == ':';
}

/// "2025-08-21T12:00:00.123456789Z ", as docker logs -t, Kubernetes and journals have it.
bool skip_timestamp(TextCursor& line) {
  TextCursor at = line;
  if (!at.skip_like("####-##-##T##:##:##")) return false;
  at.take([](char c) { return is_name(c) || c == '+' || c == ','; }, 24);
  if (at.take_spaces().empty()) return false;
  line = at;
  return true;
}

/// "stdout F ", a container runtime's.
bool skip_stream(TextCursor& line) {
  return line.skip("stdout F ") || line.skip("stderr F ") || line.skip("stdout P ") ||
         line.skip("stderr P ");
}

/// "vllm-1  | ", docker compose's.
bool skip_service(TextCursor& line) {
  TextCursor at = line;
  if (at.take(is_name, kLongestName).empty()) return false;
  if (at.take_spaces().empty() || !at.skip("| ")) return false;
  line = at;
  return true;
}

/// "[pod/name/container] ", kubectl's.
bool skip_pod(TextCursor& line) {
  TextCursor at = line;
  if (!at.skip("[pod/") || at.take(is_name, kLongestName).empty() || !at.skip("] ")) return false;
  line = at;
  return true;
}

/// "Aug 21 12:00:00 host vllm[123]: ", the journal's.
bool skip_journal(TextCursor& line) {
  TextCursor at = line;
  if (at.take(TextCursor::is_alnum, 3).size() != 3 || !at.skip(" ")) return false;
  at.take_spaces();
  if (at.take_digits().empty() || !at.skip_like(" ##:##:## ")) return false;
  if (at.take(is_name, kLongestName).empty() || !at.skip(" ")) return false;
  if (at.take(is_name, kLongestName).empty() || !at.skip("[")) return false;
  if (at.take_digits().empty() || !at.skip("]: ")) return false;
  line = at;
  return true;
}

/// "[1,0]<stdout>:" of mpirun, " 0: " of srun.
bool skip_rank(TextCursor& line) {
  TextCursor at = line;
  at.take_spaces();
  if (at.skip("[")) {
    if (at.take_digits().empty() || !at.skip(",") || at.take_digits().empty()) return false;
    if (!at.skip("]<stdout>:") && !at.skip("]<stderr>:")) return false;
  } else if (at.take_digits().empty() || !at.skip(": ")) {
    return false;
  }
  line = at;
  return true;
}

void skip_carriers(TextCursor& line) {
  constexpr std::array carriers{skip_timestamp, skip_stream,  skip_service,
                                skip_pod,       skip_journal, skip_rank};
  constexpr int kMost = 4;  // each inside the other
  for (int depth = 0; depth < kMost; ++depth) {
    bool any = false;
    for (const auto& skip : carriers) any = any || skip(line);
    if (!any) return;
  }
}

std::string_view without_folders(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool skip_level(TextCursor& line) {
  constexpr std::array levels{"INFO", "WARNING", "DEBUG", "ERROR", "CRITICAL"};
  for (const char* level : levels)
    if (line.skip(level)) return true;
  return false;
}

/// "(EngineCore_DP0 pid=123) ", before each line of a process that is not the first. Of several,
/// as Ray adds one, the last is vLLM's own.
std::string_view take_process(TextCursor& line) {
  std::string_view process;
  for (int i = 0; i < 2; ++i) {
    TextCursor at = line;
    std::string_view name, rest;
    if (!at.skip("(") || !at.take_until(" pid=", kLongestName, name)) break;
    if (!at.take_until(")", kLongestName, rest)) break;
    at.take_spaces();
    process = name;
    line = at;
  }
  return process;
}

/// "cuda.py:293]", of which the bracket before it is newer than vLLM 0.6.
bool take_source(TextCursor& line, std::string_view& file) {
  line.skip("[");
  std::string_view source;
  if (!line.take_until("]", kLongestName, source)) return false;
  const std::size_t colon = source.rfind(':');
  if (colon == std::string_view::npos) return false;
  file = without_folders(source.substr(0, colon));
  return file.ends_with(".py");
}

/// "(Worker_TP0 pid=9) INFO 08-21 12:00:00 [cuda.py:293] message"
std::optional<LogRecord> read_vllm(TextCursor line) {
  LogRecord record{.engine = ServingEngine::vllm, .file = {}, .process = {}, .message = {}};
  record.process = take_process(line);
  if (!skip_level(line) || line.take_spaces().empty()) return std::nullopt;
  if (!line.skip_like("##-## ##:##:##")) return std::nullopt;
  if (line.skip(".") && line.take_digits().empty()) return std::nullopt;
  if (!line.skip(" ") || !take_source(line, record.file)) return std::nullopt;
  line.skip(" ");
  record.message = line.rest();
  return record;
}

/// "[2025-08-21 12:00:00 DP0 TP1] message", since 0.5.9 at times "[…] INFO file.py:12: message"
std::optional<LogRecord> read_sglang(TextCursor line) {
  LogRecord record{.engine = ServingEngine::sglang, .file = {}, .process = {}, .message = {}};
  if (!line.skip_like("[####-##-## ##:##:##")) return std::nullopt;
  if ((line.skip(".") || line.skip(",")) && line.take_digits().empty()) return std::nullopt;
  line.skip(" ");
  record.process = line.take([](char c) { return TextCursor::is_alnum(c) || c == ' '; }, 64);
  if (!line.skip("] ")) return std::nullopt;
  TextCursor at = line;
  std::string_view source;
  if (skip_level(at) && at.skip(" ") && at.take_until(": ", kLongestName, source)) {
    const std::size_t colon = source.find(".py:");
    if (colon != std::string_view::npos) {
      record.file = without_folders(source.substr(0, colon + 3));
      line = at;
    }
  }
  record.message = line.rest();
  return record;
}

/// "[08/21/2025-12:00:00] [TRT-LLM] [RANK 0] [I] message", the same with [TRT-LLM AUTO-DEPLOY],
/// "[TensorRT-LLM][INFO] message", "[TensorRT-LLM] message"
std::optional<LogRecord> read_tensorrt_llm(TextCursor line) {
  LogRecord record{.engine = ServingEngine::tensorrt_llm, .file = {}, .process = {}, .message = {}};
  if (line.skip("[TensorRT-LLM]")) {
    std::string_view level;
    if (line.skip("[") && !line.take_until("]", 16, level)) return std::nullopt;
    if (!line.skip(" ")) return std::nullopt;
  } else {
    if (!line.skip_like("[##/##/####-##:##:##] ")) return std::nullopt;
    if (!line.skip("[TRT-LLM] ") && !line.skip("[TRT-LLM AUTO-DEPLOY] ")) return std::nullopt;
    if (line.skip("[RANK ") || line.skip("[MPI_Rank ")) {
      record.process = line.take_digits();
      if (!line.skip("] ")) return std::nullopt;
    }
    if (!line.skip("[I] ") && !line.skip("[W] ") && !line.skip("[E] ") && !line.skip("[V] "))
      return std::nullopt;
  }
  record.message = line.rest();
  return record;
}

}  // namespace

const char* name_of(ServingEngine engine) {
  switch (engine) {
    case ServingEngine::vllm:
      return "vLLM";
    case ServingEngine::sglang:
      return "SGLang";
    case ServingEngine::tensorrt_llm:
      break;
  }
  return "TensorRT-LLM";
}

std::optional<LogRecord> read_log_record(std::string_view line) {
  TextCursor at(line);
  skip_carriers(at);
  for (const auto& read : {read_vllm, read_sglang, read_tensorrt_llm})
    if (const std::optional<LogRecord> record = read(at)) return record;
  return std::nullopt;
}

std::string without_colours(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  TextCursor at(line);
  while (!at.at_end()) {
    plain += at.take([](char c) { return c != '\x1b'; });
    if (!at.skip("\x1b")) break;
    if (!at.skip("[")) continue;
    at.take([](char c) { return TextCursor::is_digit(c) || c == ';' || c == '?'; });
    at.take([](char) { return true; }, 1);
  }
  return plain;
}

}  // namespace headwise
