#include "bench/stored_matrices.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"

namespace headwise::bench {
namespace {

std::string lower_name(BlockFormat format) {
  std::string text = name(format);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Layers' matrices of one kind, each of one or several tensors.
class Mixture {
 public:
  explicit Mixture(const ModelFile& file) : tensors_(file.tensors()) {}

  StoredFormat of(const std::string& prefix, int layers,
                  std::initializer_list<const char*> parts) const {
    std::map<std::string, int> counts;
    double bytes = 0.0, weights = 0.0;
    for (int layer = 0; layer < layers; ++layer) {
      std::vector<std::string> formats;
      for (const char* part : parts) {
        const WeightTensor& tensor = find(
            prefix.empty() ? concat(part, ".weight") : concat(prefix, layer, ".", part, ".weight"));
        bytes += static_cast<double>(tensor.data.size());
        weights += static_cast<double>(tensor.elements());
        std::string format = lower_name(tensor.format);
        if (std::ranges::find(formats, format) == formats.end())
          formats.push_back(std::move(format));
      }
      ++counts[joined(formats, "/")];
    }
    std::vector<std::string> shares;
    for (const auto& [format, count] : counts)
      shares.push_back(counts.size() == 1 ? format : concat(count, " ", format));
    return {.name = joined(shares, " + "), .bytes_per_weight = bytes / weights};
  }

 private:
  static std::string joined(const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
  }

  const WeightTensor& find(const std::string& name) const {
    const auto found = std::ranges::find_if(
        tensors_, [&](const WeightTensor* tensor) { return tensor->name == name; });
    check(found != tensors_.end(), "tensor '", name, "' is missing");
    return **found;
  }

  std::vector<const WeightTensor*> tensors_;
};

}  // namespace

std::optional<StoredMatrices> stored_matrices(const ModelFile& file) {
  if (!file.has_weights()) return std::nullopt;
  const Mixture mixture(file);
  const int layers = file.config().layers;
  const char* output = file.config().tied_output ? "token_embd" : "output";
  return StoredMatrices{.qkv = mixture.of("blk.", layers, {"attn_q", "attn_k", "attn_v"}),
                        .attention_output = mixture.of("blk.", layers, {"attn_output"}),
                        .gate_up = mixture.of("blk.", layers, {"ffn_gate", "ffn_up"}),
                        .down = mixture.of("blk.", layers, {"ffn_down"}),
                        .output = mixture.of("", 1, {output})};
}

}  // namespace headwise::bench
