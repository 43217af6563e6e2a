#pragma once

// Safetensors files: a 64-bit length, a JSON header of as many bytes, the data. A file is hostile
// until proved otherwise, as in gguf.h.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/mapped_file.h"
#include "model/tensor_table.h"

namespace headwise {

/// An open safetensors file. Owns the mapping that its tensors point into; moving keeps them valid.
class SafetensorsFile {
 public:
  /// Throws Error, one line that names the file and the tensor at fault. Tensors of a type other
  /// than F32, F16 and BF16 are refused, and so are gaps and overlaps.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Of bytes that outlive it; `path` is for messages.
  SafetensorsFile(std::span<const std::byte> bytes, std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const TensorTable& table() const { return table_; }  ///< whose errors do not name the file

 private:
  std::filesystem::path path_;
  std::optional<MappedFile> file_;
  TensorTable table_;
};

/// What a model.safetensors.index.json says: in which file of its folder a tensor is. Throws Error
/// naming the field or tensor; a name that is not of a plain file in the folder is refused.
std::map<std::string, std::string> read_safetensors_index(std::string_view json);

}  // namespace headwise
