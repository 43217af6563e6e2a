#include "model/json_text.h"

#include <set>
#include <string>
#include <vector>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

/// Looks at a document as it is being parsed.
class Watcher {
 public:
  explicit Watcher(const JsonLimits& limits) : limits_(limits) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    check(static_cast<std::size_t>(depth) <= limits_.depth, "is nested deeper than ", limits_.depth,
          where());
    switch (event) {
      case Json::parse_event_t::object_start:
        names_.emplace_back();
        count();
        break;
      case Json::parse_event_t::object_end:
        names_.pop_back();
        break;
      case Json::parse_event_t::key:
        name_ = parsed.get_ref<const std::string&>();
        check(names_.back().insert(name_).second, "field ", quoted_name(name_), " appears twice");
        break;
      case Json::parse_event_t::array_start:
      case Json::parse_event_t::value:
        count();
        break;
      case Json::parse_event_t::array_end:
        break;
    }
    return true;
  }

  std::string where() const {
    return name_.empty() ? std::string() : " (behind " + quoted_name(name_) + ")";
  }

 private:
  void count() {
    check(++values_ <= limits_.values, "holds more than ", limits_.values, " values", where());
  }

  JsonLimits limits_;
  std::vector<std::set<std::string>> names_;  // of the objects that are open
  std::string name_;                          // the last one
  std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits) {
  check(text.size() <= limits.bytes, "is longer than ", limits.bytes, " bytes of JSON");
  check(!text.starts_with("version https://git-lfs"),
        "is a Git LFS pointer, not the file itself (git lfs pull fetches it)");
  const std::size_t zero = text.find('\0');  // where the parser would stop, and be content
  check(zero == std::string_view::npos, "is not JSON at byte ", zero + 1);
  Watcher watcher(limits);
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      return watcher(depth, event, parsed);
    });
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::invalid_input,
                concat("is not JSON at byte ", error.byte, watcher.where()));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::invalid_input,
                concat("holds a number that is out of range", watcher.where()));
  }
}

}  // namespace headwise
