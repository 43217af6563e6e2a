#include "cli/described_model.h"

#include <filesystem>
#include <map>

#include "advisor/device/data_folders.h"
#include "advisor/model/model_reader.h"
#include "bench/stored_matrices.h"
#include "core/check.h"
#include "model/model_file.h"

namespace headwise::cli {
namespace fs = std::filesystem;
namespace {

/// A dense model of the families that Headwise runs.
ModelDescription description_of(const ModelConfig& config) {
  ModelDescription model{.model_type = config.architecture,
                         .hidden = config.width,
                         .vocab = config.vocab,
                         .context = config.context,
                         .tied_embeddings = config.tied_output,
                         .groups = {},
                         .group_of_layer = config.kind_of_layer,
                         .assumptions = {}};
  for (const LayerKind& kind : config.kinds) {
    SoftmaxAttention attention{.q_heads = config.q_heads,
                               .kv_heads = config.kv_heads,
                               .head_dim_qk = config.head_dim,
                               .head_dim_v = config.head_dim,
                               .span = {}};
    if (kind.window > 0) attention.span = {SpanKind::sliding_window, kind.window};
    model.groups.push_back(
        {.count = 0,
         .layer = {.attention = attention,
                   .feed_forward = DenseFeedForward{.width = config.ffn_width}}});
  }
  for (const int group : config.kind_of_layer)
    ++model.groups[static_cast<std::size_t>(group)].count;
  return model;
}

DescribedModel from_gguf(const fs::path& path) {
  const ModelFile file(path);
  return {.path = path.string(),
          .name = path.stem().string(),
          .description = description_of(file.config()),
          .weights = {.format = {},
                      .why = "the blocks that a GGUF file stores have times on CPUs alone"},
          .stored = bench::stored_matrices(file)};
}

DescribedModel from_config(const fs::path& path) {
  constexpr std::size_t kLongest = 1 << 20;
  const std::string text = read_text(path, kLongest);
  const fs::path folder = fs::absolute(path).parent_path();
  const bool is_named_so = path.filename() == "config.json";
  return with_name(path.string(), [&] {
    return DescribedModel{.path = path.string(),
                          .name = (is_named_so ? folder.filename() : path.stem()).string(),
                          .description = read_model_description(text),
                          .weights = stored_weights(text),
                          .stored = {}};
  });
}

}  // namespace

DescribedModel describe_model(const std::string& path) {
  const fs::path file(path);
  std::error_code error;
  if (file.extension() == ".gguf") return from_gguf(file);
  return from_config(fs::is_directory(file, error) ? file / "config.json" : file);
}

}  // namespace headwise::cli
