#include "model/json/json_field.h"

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

std::string JsonField::label() const {
  return name_.empty() ? "the document" : concat("field ", quoted_name(name_));
}

void JsonField::check_that(bool ok, std::string_view complaint) const {
  check(ok, ok ? std::string() : concat(label(), " ", complaint));
}

bool JsonField::has(std::string_view key) const {
  if (!value_->is_object()) return false;
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonField JsonField::at(std::string_view key) const {
  const std::string name = name_.empty() ? std::string(key) : concat(name_, ".", key);
  check_that(value_->is_object(), "is no object");
  const auto found = value_->find(key);
  check(found != value_->end() && !found->is_null(), "field ", quoted_name(name), " is missing");
  return {*found, name};
}

std::vector<JsonField> JsonField::elements() const {
  check_that(value_->is_array(), "is no array");
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (const auto& element : *value_) {
    fields.push_back({element, concat(name_, "[", fields.size(), "]")});
  }
  return fields;
}

const std::string& JsonField::string() const {
  check_that(value_->is_string(), "is no string");
  return value_->get_ref<const std::string&>();
}

bool JsonField::boolean() const {
  check_that(value_->is_boolean(), "is neither true nor false");
  return value_->get<bool>();
}

std::uint64_t JsonField::unsigned_integer() const {
  check_that(value_->is_number_unsigned(), "is no integer from 0 up");
  return value_->get<std::uint64_t>();
}

bool JsonField::boolean(std::string_view key, bool otherwise) const {
  return has(key) ? at(key).boolean() : otherwise;
}

std::string JsonField::string(std::string_view key, std::string_view otherwise) const {
  return has(key) ? at(key).string() : std::string(otherwise);
}

}  // namespace headwise
