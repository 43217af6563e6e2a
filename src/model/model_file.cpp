#include "model/model_file.h"

#include <optional>

#include "core/check.h"
#include "model/gguf/gguf.h"
#include "model/gguf/gguf_config.h"
#include "model/hugging_face/hf_config.h"
#include "model/hugging_face/hf_weights.h"
#include "model/mapped_file.h"
#include "model/model_tensors.h"

namespace headwise {

/// One of `gguf` and `hf` is there, or neither.
struct ModelFile::Layout {
  std::filesystem::path path;
  std::filesystem::path folder;
  std::optional<GgufFile> gguf;
  ModelConfig config;
  std::optional<HfWeights> hf;

  const TensorTable* table() const { return gguf ? &gguf->table() : hf ? &hf->table : nullptr; }
};

namespace {

ModelConfig open_hf_config(const std::filesystem::path& path) {
  const MappedFile file(path);
  return with_name(path.string(), [&] {
    const auto bytes = file.bytes();
    return read_hf_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

}  // namespace

ModelFile::ModelFile(const std::filesystem::path& path) {
  auto layout = std::make_unique<Layout>();
  layout->path = path;
  std::error_code unreadable;  // is said by who opens it
  if (std::filesystem::is_directory(path, unreadable)) {
    layout->folder = path;
    layout->config = open_hf_config(path / "config.json");
    layout->hf = open_hf_weights(path, layout->config);
  } else if (path.extension() == ".json") {
    layout->config = open_hf_config(path);
  } else {
    check(path.extension() != ".safetensors", path.string(),
          ": is a part of a model; give the folder that it lies in");
    layout->gguf.emplace(path);
    layout->config = read_gguf_config(*layout->gguf);
  }
  if (const TensorTable* table = layout->table()) {
    with_name(path.string(), [&] { check_tensors(layout->config, *table); });
  }
  layout_ = std::move(layout);
}

ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;
ModelFile::~ModelFile() = default;

const std::filesystem::path& ModelFile::path() const { return layout_->path; }
const ModelConfig& ModelFile::config() const { return layout_->config; }
const GgufFile* ModelFile::gguf() const { return layout_->gguf ? &*layout_->gguf : nullptr; }
std::filesystem::path ModelFile::folder() const { return layout_->folder; }
bool ModelFile::has_weights() const { return layout_->table() != nullptr; }

std::vector<const WeightTensor*> ModelFile::tensors() const {
  std::vector<const WeightTensor*> tensors;
  if (!has_weights()) return tensors;
  for (const WeightTensor& tensor : layout_->table()->tensors()) tensors.push_back(&tensor);
  return tensors;
}

bool ModelFile::has_tensor(std::string_view name) const {
  return has_weights() && layout_->table()->has(name);
}

const WeightTensor& ModelFile::tensor(std::string_view name,
                                      const std::vector<std::uint64_t>& sizes) const {
  check(has_weights(), path().string(), ": is a configuration, which has no weights");
  return with_name(
      path().string(), [&]() -> auto& { return layout_->table()->at(name, sizes); });
}

}  // namespace headwise
