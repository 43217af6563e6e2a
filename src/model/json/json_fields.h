#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// An object of a JSON file, of whose fields it remembers which were asked for. A field that is
/// null counts as absent. All throw Error naming the field if it is missing or holds another type.
class JsonFields {
 public:
  /// `prefix` is what stands before the names in messages: "" or "rope_scaling.". The object must
  /// outlive it.
  explicit JsonFields(const nlohmann::json& object, std::string prefix = {});

  bool has(const std::string& name);
  int count(const std::string& name, int most);  ///< an integer from 1 to `most`
  int count_or(const std::string& name, int most, int otherwise);
  int integer(const std::string& name, int least, int most);  ///< `least` is not negative
  double number(const std::string& name, double least);       ///< finite, up to 10^12
  double number_or(const std::string& name, double least, double otherwise);
  bool boolean_or(const std::string& name, bool otherwise);
  std::string string(const std::string& name);
  std::string string_or(const std::string& name, const std::string& otherwise);
  std::vector<std::string> strings(const std::string& name, std::size_t most);
  JsonFields object(const std::string& name);
  const nlohmann::json& value(const std::string& name);

  std::vector<std::string> names() const;           ///< all there are, asked for or not
  std::string full(const std::string& name) const;  ///< quoted, with the prefix
  /// Throws unless each field that is not null was asked for or is one of `harmless`.
  void refuse_others(std::span<const std::string_view> harmless = {}) const;

 private:
  const nlohmann::json* object_;
  std::string prefix_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace headwise
