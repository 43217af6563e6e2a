#include "model/json/json_text.h"

#include <string>
#include <vector>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

/// Makes a document of what the parser reports, within limits. The library's own callbacks take
/// time that grows with the square of an object's fields.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return add(nullptr), true; }
  bool boolean(bool value) override { return add(value), true; }
  bool number_integer(number_integer_t value) override { return add(value), true; }
  bool number_unsigned(number_unsigned_t value) override { return add(value), true; }
  bool number_float(number_float_t value, const string_t&) override { return add(value), true; }
  bool string(string_t& value) override { return add(std::move(value)), true; }
  bool binary(binary_t&) override { return false; }  // is not of text

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    name_ = value;
    const auto [field, added] = open_.back()->emplace(std::move(value), nullptr);
    check(added, "field ", quoted_name(name_), " appears twice");
    field_ = &*field;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool is_number = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    const std::string fault =
        is_number ? "holds a number that is out of range" : concat("is not JSON at byte ", byte);
    throw Error(ErrorCode::invalid_input, fault + where());
  }

  Json take() { return std::move(document_); }

 private:
  std::string where() const {
    return name_.empty() ? std::string() : " (behind " + quoted_name(name_) + ")";
  }

  Json* add(Json value) {
    check(++values_ <= limits_.values, "holds more than ", limits_.values, " values", where());
    if (open_.empty()) return &(document_ = std::move(value));
    if (open_.back()->is_object()) return &(*field_ = std::move(value));
    return &open_.back()->emplace_back(std::move(value));
  }

  bool open(Json value) {
    check(open_.size() < limits_.depth, "is nested deeper than ", limits_.depth, where());
    open_.push_back(add(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  Json document_;
  std::vector<Json*> open_;  // objects and arrays; only the last one grows, so that none moves
  Json* field_ = nullptr;    // of the last object, to be set next
  std::string name_;         // the last one
  std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits) {
  check(text.size() <= limits.bytes, "is longer than ", limits.bytes, " bytes of JSON");
  check(!text.starts_with("version https://git-lfs"),
        "is a Git LFS pointer, not the file itself (git lfs pull fetches it)");
  const std::size_t zero = text.find('\0');  // where the parser would stop, and be content
  check(zero == std::string_view::npos, "is not JSON at byte ", zero + 1);
  Builder builder(limits);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace headwise
