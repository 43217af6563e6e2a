#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/model/model_description.h"
#include "model/json/json_fields.h"

namespace headwise {

/// Fields of a config.json, and what is assumed of those that are not there.
class ModelFields : public JsonFields {
 public:
  /// Both outlive it.
  ModelFields(const nlohmann::json& object, std::string prefix,
              std::vector<Assumption>& assumptions)
      : JsonFields(object, std::move(prefix)), object_(&object), assumptions_(&assumptions) {}

  ModelFields nested(const std::string& name);

  void assume(std::string field, std::string value, std::string why);
  int count_or_assume(const std::string& name, int most, int otherwise, std::string_view why);

  /// A count that files spell in several ways; nothing if none is there. Throws if two differ.
  std::optional<int> count_by_any(std::initializer_list<const char*> names, int least, int most);

  bool is_left_out(const std::string& name) const;  ///< not even null
  std::vector<int> integers(const std::string& name, int least, int most);

  /// Throws unless each field whose name tells of attention, layers or feed-forward was asked for.
  /// Those that are known not to matter may stand there, and whatever is false.
  void refuse_what_could_matter() const;

 private:
  const nlohmann::json* object_;
  std::vector<Assumption>* assumptions_;
};

}  // namespace headwise
