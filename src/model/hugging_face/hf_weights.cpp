#include "model/hugging_face/hf_weights.h"

#include <set>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/hugging_face/hf_names.h"
#include "model/mapped_file.h"
#include "model/model_config.h"

namespace headwise {
namespace {

using FileOfTensor = std::map<std::string, std::string>;

FileOfTensor open_index(const std::filesystem::path& path) {
  const MappedFile index(path);
  return with_name(path.string(), [&] {
    const auto bytes = index.bytes();
    return read_safetensors_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

/// Each tensor of the index is to be in its file, and each of a file in the index.
void check_index(const FileOfTensor& file_of, const std::vector<SafetensorsFile>& files) {
  std::size_t found = 0;
  for (const SafetensorsFile& file : files) {
    for (const WeightTensor& tensor : file.table().tensors()) {
      const auto entry = file_of.find(std::string(tensor.name));
      check(entry != file_of.end() && entry->second == file.path().filename(), label(tensor),
            " of ", file.path().filename().string(), " is not in the index as such");
      ++found;
    }
  }
  if (found == file_of.size()) return;
  for (const auto& [name, shard] : file_of) {
    for (const SafetensorsFile& file : files) {
      if (file.path().filename() != shard) continue;
      check(file.table().has(name), "tensor ", quoted_name(name), " is not in ", shard);
    }
  }
}

std::vector<SafetensorsFile> open_files(const std::filesystem::path& folder) {
  std::vector<SafetensorsFile> files;
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  std::error_code error;  // of what is there, but cannot be looked at
  if (!std::filesystem::exists(index, error) && !error) {
    files.emplace_back(folder / "model.safetensors");
    return files;
  }
  const FileOfTensor file_of = open_index(index);
  std::set<std::string> names;
  for (const auto& [tensor, name] : file_of) names.insert(name);
  for (const std::string& name : names) files.emplace_back(folder / name);
  with_name(index.string(), [&] { check_index(file_of, files); });
  return files;
}

}  // namespace

HfWeights open_hf_weights(const std::filesystem::path& folder, const ModelConfig& config) {
  HfWeights weights{.files = open_files(folder), .table = {}};
  for (const SafetensorsFile& file : weights.files) {
    with_name(file.path().string(), [&] {
      for (WeightTensor tensor : file.table().tensors()) {
        const auto name = gguf_name(tensor.name, config.architecture);
        check(name.has_value(), label(tensor), " is not understood");
        // A checkpoint may store a second copy of what it ties.
        if (name->empty() || (config.tied_output && *name == "output.weight")) continue;
        tensor.name = *name;
        weights.table.add(std::move(tensor));
      }
    });
  }
  return weights;
}

}  // namespace headwise
