#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A value of a JSON document, which must outlive it, and where it stands: "model.vocab". Getters
/// throw Error naming that place if it is absent or holds another type.
class JsonField {
 public:
  explicit JsonField(const nlohmann::json& document) : value_(&document) {}

  const std::string& name() const { return name_; }
  /// `field 'model.vocab'`, for messages.
  std::string label() const;
  const nlohmann::json& json() const { return *value_; }

  bool has(std::string_view key) const;  ///< an object's, and not null
  JsonField at(std::string_view key) const;
  std::vector<JsonField> elements() const;  ///< of an array

  const std::string& string() const;
  bool boolean() const;
  std::uint64_t unsigned_integer() const;
  /// The member's value; `otherwise` if it is absent or null.
  bool boolean(std::string_view key, bool otherwise) const;
  std::string string(std::string_view key, std::string_view otherwise) const;

  /// Throws Error that begins with the label unless `ok`.
  void check_that(bool ok, std::string_view complaint) const;

 private:
  JsonField(const nlohmann::json& value, std::string name)
      : value_(&value), name_(std::move(name)) {}
  const nlohmann::json* value_;
  std::string name_;
};

}  // namespace headwise
