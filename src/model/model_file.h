#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "model/model_config.h"
#include "model/weight_tensor.h"

namespace headwise {

class GgufFile;

/// A model on disk, whatever its layout: a .gguf file, a Hugging Face folder (config.json,
/// safetensors, tokenizer.json), or a config.json alone, which has no weights. Tensors go by the
/// names that they have in GGUF files ("blk.0.attn_q.weight"), whatever the layout. Owns the
/// mappings that its tensors point into; movable. Read-only, hence shared freely between threads.
class ModelFile {
 public:
  /// Throws Error, one line that names the file and the key, field or tensor at fault. Where there
  /// are weights, they are all that the configuration asks for, and no others.
  explicit ModelFile(const std::filesystem::path& path);
  ModelFile(ModelFile&&) noexcept;
  ModelFile& operator=(ModelFile&&) noexcept;
  ~ModelFile();

  const std::filesystem::path& path() const;
  const ModelConfig& config() const;

  const GgufFile* gguf() const;          ///< null for other layouts
  std::filesystem::path folder() const;  ///< a Hugging Face folder's path; empty for other layouts

  bool has_weights() const;
  std::vector<const WeightTensor*> tensors() const;  ///< in the file's order
  bool has_tensor(std::string_view name) const;
  /// Throws Error naming the tensor if it is missing or its sizes are not `sizes`, fastest first.
  const WeightTensor& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes) const;

 private:
  struct Layout;
  std::unique_ptr<const Layout> layout_;
};

}  // namespace headwise
