#pragma once

// GGUF model files, versions 2 and 3, little-endian. A file is hostile until proved otherwise: each
// size, offset, count, length and product is checked against the file before it is used.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/mapped_file.h"
#include "model/tensor_table.h"

namespace headwise {

class ByteReader;

enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

/// A metadata value as it lies in the file; already known to lie within it.
struct GgufValue {
  GgufType type = GgufType::u8;  ///< of the elements, where is_array
  bool is_array = false;
  std::uint64_t count = 1;           ///< elements
  std::span<const std::byte> bytes;  ///< the elements, strings with their lengths
};

/// A file's keys. Getters throw Error naming the key if it is absent or holds another type.
class GgufMetadata {
 public:
  bool has(std::string_view key) const { return values_.contains(key); }
  std::vector<std::string_view> keys() const;  ///< sorted

  std::uint64_t unsigned_integer(std::string_view key) const;  ///< any integer type, not negative
  double number(std::string_view key) const;                   ///< f32 or f64
  bool boolean(std::string_view key) const;
  std::string_view string(std::string_view key) const;
  std::vector<std::string_view> strings(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;  ///< an array of any integers
  std::vector<bool> booleans(std::string_view key) const;
  bool is_array(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;  ///< an array of f32

 private:
  friend class GgufFile;
  const GgufValue& value(std::string_view key, bool is_array) const;
  std::map<std::string_view, GgufValue> values_;
};

/// An open GGUF file: its keys and tensors. Owns the mapping that they point into, so movable but
/// not copyable; moving keeps every view valid. Read-only, hence shared freely between threads.
class GgufFile {
 public:
  /// Throws Error, one line that names the file and the key or tensor at fault. Tensors of a type
  /// that cannot be dequantised are refused here.
  explicit GgufFile(const std::filesystem::path& path);
  /// Of bytes that outlive it; `path` is for messages.
  GgufFile(std::span<const std::byte> bytes, std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const GgufMetadata& metadata() const { return metadata_; }
  const TensorTable& table() const { return table_; }  ///< whose errors do not name the file
  std::span<const WeightTensor> tensors() const { return table_.tensors(); }

  bool has_tensor(std::string_view name) const { return table_.has(name); }
  /// Throws Error naming the tensor if it is missing.
  const WeightTensor& tensor(std::string_view name) const;
  /// As above, and throws unless its sizes are `sizes`, fastest first: {columns, rows}.
  const WeightTensor& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes) const;

 private:
  void read(std::span<const std::byte> bytes);
  void read_metadata(ByteReader& reader, std::uint64_t count);
  void read_tensors(ByteReader& reader, std::uint64_t count);
  std::filesystem::path path_;
  std::optional<MappedFile> file_;
  GgufMetadata metadata_;
  TensorTable table_;
};

}  // namespace headwise
