#include <limits>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf/gguf.h"
#include "model/gguf/gguf_value.h"

namespace headwise {
namespace {

// Of one value; 0: varies (strings, arrays).
std::size_t type_bytes(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return 0;
}

GgufType read_type(ByteReader& reader, const std::string& what) {
  const auto type = reader.number<std::uint32_t>(what);
  check(type <= static_cast<std::uint32_t>(GgufType::f64), what, " has the unknown type ", type);
  return static_cast<GgufType>(type);
}

template <class T>
T load(const GgufValue& value, std::uint64_t index) {
  T number;
  std::memcpy(&number, value.bytes.data() + index * sizeof number, sizeof number);
  return number;
}

bool is_integer(GgufType type) {
  return type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean &&
         type != GgufType::string && type != GgufType::array;
}

/// `value` holds integers. Above the range of a signed 64-bit integer is refused.
std::int64_t load_integer(const GgufValue& value, std::uint64_t index, std::string_view key) {
  switch (value.type) {
    case GgufType::u8:
      return load<std::uint8_t>(value, index);
    case GgufType::i8:
      return load<std::int8_t>(value, index);
    case GgufType::u16:
      return load<std::uint16_t>(value, index);
    case GgufType::i16:
      return load<std::int16_t>(value, index);
    case GgufType::u32:
      return load<std::uint32_t>(value, index);
    case GgufType::i32:
      return load<std::int32_t>(value, index);
    case GgufType::i64:
      return load<std::int64_t>(value, index);
    default:
      break;
  }
  const auto number = load<std::uint64_t>(value, index);
  check(number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), "key ",
        quoted_name(key), " is too large: ", number);
  return static_cast<std::int64_t>(number);
}

/// `value` holds booleans.
bool load_boolean(const GgufValue& value, std::uint64_t index, std::string_view key) {
  const int byte = load<std::uint8_t>(value, index);
  check(byte <= 1, "key ", quoted_name(key), " is ", byte, ", neither false (0) nor true (1)");
  return byte == 1;
}

}  // namespace

GgufValue read_gguf_value(ByteReader& reader, std::string_view key) {
  const std::string what = "key " + quoted_name(key);
  GgufValue value;
  value.type = read_type(reader, what);
  if (value.type == GgufType::array) {
    value.is_array = true;
    value.type = read_type(reader, what);
    check(value.type != GgufType::array, what, " is an array of arrays, which is not supported");
    value.count = reader.number<std::uint64_t>(what);
  }
  const std::size_t each = type_bytes(value.type);
  const std::size_t least = each == 0 ? sizeof(std::uint64_t) : each;  // a string has its length
  check(value.count <= reader.remaining() / least, what, " claims ", value.count, " values where ",
        reader.remaining(), " bytes are left in the file");
  if (each != 0) {
    value.bytes = reader.take(value.count * each, what);
    return value;
  }
  ByteReader ahead = reader;
  for (std::uint64_t i = 0; i < value.count; ++i) ahead.string(what);
  value.bytes = reader.take(ahead.position() - reader.position(), what);
  return value;
}

std::vector<std::string_view> GgufMetadata::keys() const {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

const GgufValue& GgufMetadata::value(std::string_view key, bool is_array) const {
  const auto found = values_.find(key);
  check(found != values_.end(), "key ", quoted_name(key), " is missing");
  check(found->second.is_array == is_array, "key ", quoted_name(key),
        is_array ? " is not an array" : " is an array, not one value");
  return found->second;
}

std::uint64_t GgufMetadata::unsigned_integer(std::string_view key) const {
  const GgufValue& found = value(key, false);
  check(is_integer(found.type), "key ", quoted_name(key), " is not an integer");
  const std::int64_t number = load_integer(found, 0, key);
  check(number >= 0, "key ", quoted_name(key), " is negative: ", number);
  return static_cast<std::uint64_t>(number);
}

double GgufMetadata::number(std::string_view key) const {
  const GgufValue& found = value(key, false);
  if (found.type == GgufType::f64) return load<double>(found, 0);
  check(found.type == GgufType::f32, "key ", quoted_name(key), " is not a floating-point number");
  return load<float>(found, 0);
}

bool GgufMetadata::boolean(std::string_view key) const {
  const GgufValue& found = value(key, false);
  check(found.type == GgufType::boolean, "key ", quoted_name(key), " is not a boolean");
  return load_boolean(found, 0, key);
}

std::string_view GgufMetadata::string(std::string_view key) const {
  const GgufValue& found = value(key, false);
  check(found.type == GgufType::string, "key ", quoted_name(key), " is not a string");
  return ByteReader(found.bytes).string(key);
}

std::vector<std::string_view> GgufMetadata::strings(std::string_view key) const {
  const GgufValue& found = value(key, true);
  check(found.type == GgufType::string, "key ", quoted_name(key), " does not hold strings");
  ByteReader reader(found.bytes);
  std::vector<std::string_view> strings;
  strings.reserve(found.count);
  for (std::uint64_t i = 0; i < found.count; ++i) strings.push_back(reader.string(key));
  return strings;
}

std::vector<std::int64_t> GgufMetadata::integers(std::string_view key) const {
  const GgufValue& found = value(key, true);
  check(is_integer(found.type), "key ", quoted_name(key), " does not hold integers");
  std::vector<std::int64_t> integers(found.count);
  for (std::uint64_t i = 0; i < found.count; ++i) integers[i] = load_integer(found, i, key);
  return integers;
}

std::vector<bool> GgufMetadata::booleans(std::string_view key) const {
  const GgufValue& found = value(key, true);
  check(found.type == GgufType::boolean, "key ", quoted_name(key), " does not hold booleans");
  std::vector<bool> booleans;
  for (std::uint64_t i = 0; i < found.count; ++i) booleans.push_back(load_boolean(found, i, key));
  return booleans;
}

bool GgufMetadata::is_array(std::string_view key) const {
  const auto found = values_.find(key);
  check(found != values_.end(), "key ", quoted_name(key), " is missing");
  return found->second.is_array;
}

std::vector<float> GgufMetadata::floats(std::string_view key) const {
  const GgufValue& found = value(key, true);
  check(found.type == GgufType::f32, "key ", quoted_name(key), " does not hold f32 numbers");
  std::vector<float> floats(found.count);
  for (std::uint64_t i = 0; i < found.count; ++i) floats[i] = load<float>(found, i);
  return floats;
}

}  // namespace headwise
