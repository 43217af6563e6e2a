#include "model/model_file.h"
#include "model/gguf.h"
#include "model/gguf_config.h"
namespace headwise {
class ModelFile::Layout { public: explicit Layout(const std::filesystem::path& p): file(p), config(read_gguf_config(file)){} GgufFile file; ModelConfig config; };
ModelFile::ModelFile(const std::filesystem::path& path): layout_(std::make_unique<Layout>(path)) {}
ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;
ModelFile::~ModelFile() = default;
const std::filesystem::path& ModelFile::path() const { return layout_->file.path(); }
const ModelConfig& ModelFile::config() const { return layout_->config; }
bool ModelFile::has_tensor(std::string_view n) const { return layout_->file.has_tensor(n); }
const WeightTensor& ModelFile::tensor(std::string_view n, const std::vector<std::uint64_t>& s) const { return layout_->file.tensor(n, s); }
const GgufFile* ModelFile::gguf() const { return &layout_->file; }
}
namespace headwise { std::vector<const WeightTensor*> ModelFile::tensors() const { std::vector<const WeightTensor*> v; for (auto& t : layout_->file.tensors()) v.push_back(&t); return v; } }
