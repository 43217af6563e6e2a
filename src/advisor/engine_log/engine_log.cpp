#include "advisor/engine_log/engine_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "advisor/engine_log/engine_start.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr std::size_t kLongestLine = 256 << 10;
constexpr std::size_t kPiece = 64 << 10;

/// Whether `beginning` is UTF-16: a byte order mark, or Latin letters with a zero beside each.
bool is_utf16(std::string_view beginning) {
  using namespace std::string_view_literals;
  if (beginning.starts_with("\xff\xfe"sv) || beginning.starts_with("\xfe\xff"sv)) return true;
  const std::string_view sample = beginning.substr(0, 256);
  if (sample.size() < 16) return false;
  for (const std::size_t side : {0, 1}) {
    bool alternates = true;
    for (std::size_t i = 0; i < sample.size(); ++i)
      alternates = alternates && (sample[i] == '\0') == (i % 2 == side);
    if (alternates) return true;
  }
  return false;
}

/// Calls `take` with each line, up to kLongestLine bytes of it.
template <class Take>
void for_each_line(std::istream& log, const Take& take) {
  std::string line, piece(kPiece, '\0');
  bool first = true;
  while (log.read(piece.data(), static_cast<std::streamsize>(piece.size())), log.gcount() > 0) {
    std::string_view rest(piece.data(), static_cast<std::size_t>(log.gcount()));
    check(!first || !is_utf16(rest), "the log is UTF-16; convert it to UTF-8 first");
    first = false;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      line += rest.substr(0, std::min(end, kLongestLine - line.size()));
      if (end == std::string_view::npos) break;
      take(line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  check(!log.bad(), "the log cannot be read to its end");
  if (!line.empty()) take(line);
}

class LogReader {
 public:
  void take_line(std::string_view line) {
    ++lines_;
    // Progress bars return to the line's beginning; records may follow them there.
    while (!line.empty()) {
      const std::size_t end = line.find('\r');
      take_text(line.substr(0, end));
      if (end == std::string_view::npos) return;
      line.remove_prefix(end + 1);
    }
  }

  EngineLog result() && {
    check(last_.has_value(), "no start of vLLM, SGLang or TensorRT-LLM is recognised in the log");
    EngineLog log = std::move(starts_[index(*last_)]).result();
    log.lines = lines_;
    for (const ServingEngine other :
         {ServingEngine::vllm, ServingEngine::sglang, ServingEngine::tensorrt_llm})
      if (other != *last_ && starts_[index(other)].count() > 0) log.other_engines.push_back(other);
    return log;
  }

 private:
  static std::size_t index(ServingEngine engine) { return static_cast<std::size_t>(engine); }

  void take_text(std::string_view text) {
    if (text.find('\x1b') == std::string_view::npos) return take_plain(text);
    take_plain(without_colours(text));
  }

  void take_plain(std::string_view text) {
    const std::optional<LogRecord> record = read_log_record(text);
    if (!record) {
      if (print_of_) starts_[index(*print_of_)].take_print(text, lines_);
      print_of_.reset();
      return;
    }
    EngineStart& start = starts_[index(record->engine)];
    const Taken taken = start.take(*record, lines_);
    print_of_.reset();
    if (start.print_follows()) print_of_ = record->engine;
    // An engine's first words count as its start: the log may be cut.
    if (taken == Taken::start || (taken != Taken::nothing && !last_)) last_ = record->engine;
  }

  std::array<EngineStart, 3> starts_;
  std::optional<ServingEngine> last_;
  std::optional<ServingEngine> print_of_;
  std::int64_t lines_ = 0;
};

}  // namespace

const LoggedValue* EngineLog::find(LogTopic topic) const {
  const auto fact = facts.find(topic);
  return fact == facts.end() ? nullptr : &fact->second;
}

EngineLog read_engine_log(std::istream& log) {
  LogReader reader;
  for_each_line(log, [&](std::string_view line) { reader.take_line(line); });
  return std::move(reader).result();
}

}  // namespace headwise
