// write_seeds FOLDER: what each fuzzer begins with, in FOLDER/TARGET: small models that are good,
// of every family, and the hostile files that the tests try.

#include <cstdio>
#include <iterator>

#include "tests/model/hf_writer.h"
#include "tests/model/hostile_files.h"
#include "tests/model/tiny_model.h"

namespace {

using namespace headwise;
using std::filesystem::path;
using Json = nlohmann::json;

constexpr std::size_t kLargest = 8192;  // longer inputs make fuzzers slow

class Seeds {
 public:
  explicit Seeds(path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& bytes) {
    if (bytes.size() > kLargest) return;
    std::filesystem::create_directories(folder_ / target);
    std::ofstream(folder_ / target / std::to_string(count_++), std::ios::binary) << bytes;
  }
  int count() const { return count_; }

 private:
  path folder_;
  int count_ = 0;
};

void add_gguf(Seeds& seeds) {
  for (const auto* family : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const std::string name = family;
    GgufWriter writer = tiny_model(name);
    writer.u32(name + ".attention.key_length", 4)
        .u32(name + ".attention.sliding_window", 8)
        .f32(name + ".rope.freq_base", 1e6F)
        .string(name + ".rope.scaling.type", "yarn")
        .f32(name + ".rope.scaling.factor", 4.0F)
        .booleans(name + ".attention.sliding_window_pattern", {true, false});
    seeds.add("gguf", writer.text());
  }
  constexpr std::uint32_t kTypes[] = {0, 1, 2, 3, 6, 7, 8, 12, 13, 14, 30};
  for (const std::uint32_t type : kTypes) {
    seeds.add("gguf", GgufWriter().tensor("w", {256, 2}, type, std::string(2048, 'w')).text());
  }
}

void add_configs(Seeds& seeds) {
  const Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"attention_factor", 1.5}};
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0}};
  const Json both = {{"full_attention", {{"rope_type", "linear"}, {"factor", 2}}},
                     {"sliding_attention", {{"rope_theta", 2e4}}}};
  for (const auto* architecture : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                                   "Qwen3ForCausalLM", "Gemma3ForCausalLM"}) {
    Json json = tiny_hf_config(architecture);
    seeds.add("hf_config", json.dump());
    json["rope_scaling"] = yarn;
    seeds.add("hf_config", json.dump());
    json["rope_scaling"] = llama3;
    json["layer_types"] = {"full_attention", "sliding_attention"};
    seeds.add("hf_config", json.dump());
    json.erase("rope_scaling");
    json["rope_parameters"] = both;
    seeds.add("hf_config", json.dump());
  }
  Json text = tiny_hf_config();
  text.erase("architectures");
  seeds.add("hf_config", Json{{"model_type", "gemma3"}, {"text_config", text}}.dump());
}

void add_weights(Seeds& seeds) {
  seeds.add("safetensors", tiny_hf_weights().text());
  seeds.add("safetensors", SafetensorsWriter().tensor("model.norm.weight", {4}).text());
  Json map;
  for (const std::string& name : tiny_hf_weights().names()) map[name] = "a.safetensors";
  seeds.add("safetensors_index", Json{{"metadata", {{"size", 1}}}, {"weight_map", map}}.dump());
}

void add_vocabularies(Seeds& seeds) {
  GgufWriter writer = tiny_llama();
  TinyVocabulary().write_keys(writer);
  seeds.add("tokenizer_gguf", writer.text());
  const Json model = {
      {"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}};
  const Json special = {{"id", 3}, {"content", "<s>"}, {"special", true}};
  seeds.add("tokenizer_json", Json{{"model", model}, {"added_tokens", {special}}}.dump());
}

std::string target_of(const path& file) {
  if (file.extension() == ".gguf") return "gguf";
  if (file.extension() == ".safetensors") return "safetensors";
  return file.filename() == "config.json" ? "hf_config" : "safetensors_index";
}

void add_hostile(Seeds& seeds) {
  for (const auto& list : {hostile_gguf_files(), hostile_hf_files()}) {
    for (const HostileFile& hostile : list) {
      const TemporaryFolder folder;
      hostile.write(folder.path());
      for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        std::ifstream file(entry.path(), std::ios::binary);
        seeds.add(target_of(entry.path()), {std::istreambuf_iterator<char>(file), {}});
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: write_seeds FOLDER\n"), 2;
  Seeds seeds{arguments[1]};
  add_gguf(seeds);
  add_configs(seeds);
  add_weights(seeds);
  add_vocabularies(seeds);
  add_hostile(seeds);
  std::printf("%d seeds\n", seeds.count());
}
