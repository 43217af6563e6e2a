#include "cli/inspect_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attention/shape_spec.h"
#include "cli/model_options.h"
#include "engine/layer_groups.h"
#include "headwise/kv_memory.h"
#include "model/chat/chat_format.h"
#include "model/model_file.h"
#include "model/vocabulary/read_vocabulary.h"

namespace headwise::cli {
namespace {

struct Flags {
  std::string model;
  std::string kv_type = "bf16";
  bool json = false;
};

constexpr const char* kHelp =
    R"(Layers that share an attention shape form a group. KV is what one token takes in the cache, and what a
whole context takes: layers with a window keep its tokens alone. Nothing but the file's description is
read, so that a config.json without weights will do.

Examples:
  headwise inspect model.gguf
  headwise inspect folder/config.json --kv-type f8 --json)";

/// Weights and bytes of the tensors of a format.
struct Stored {
  std::uint64_t weights = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, Stored> by_format(const ModelFile& file) {
  std::map<std::string, Stored> formats;
  for (const WeightTensor* tensor : file.tensors()) {
    Stored& stored = formats[name(tensor->format)];
    stored.weights += tensor->elements();
    stored.bytes += tensor->data.size();
  }
  return formats;
}

/// The name of the format that the model wants conversations in; nothing where it comes without.
std::optional<std::string> chat_template(const ModelFile& file) {
  if (!file.has_weights()) return std::nullopt;
  const std::string source = file.gguf() != nullptr ? read_vocabulary(*file.gguf()).chat_template
                                                    : read_vocabulary(file.folder()).chat_template;
  if (source.empty()) return std::nullopt;
  const ChatFormat* format = find_chat_format(fingerprint_of_template(source));
  return format != nullptr ? std::string(format->name) : "not known";
}

std::string rope_text(const RopeConfig& rope) {
  return fmt::format("base {:g}{}", rope.base, rope.scaling.empty() ? "" : ", " + rope.scaling);
}

nlohmann::json json_of(const ModelFile& file, const std::vector<LayerGroup>& groups) {
  const ModelConfig& config = file.config();
  nlohmann::json json = {{"model", file.path().string()},     {"architecture", config.architecture},
                         {"layers", config.layers},           {"width", config.width},
                         {"ffn_width", config.ffn_width},     {"vocab", config.vocab},
                         {"context", config.context},         {"tied_output", config.tied_output},
                         {"groups", nlohmann::json::array()}, {"weights", nlohmann::json::array()}};
  std::int64_t bytes_a_token = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const LayerKind& kind = config.kinds[i];
    bytes_a_token += kv_bytes_per_token(groups[i]);
    json["groups"].push_back(
        {{"layers", layer_list(config, static_cast<int>(i))},
         {"count", groups[i].layers},
         {"q_heads", config.q_heads},
         {"kv_heads", config.kv_heads},
         {"group_size", config.q_heads / config.kv_heads},
         {"head_dim", config.head_dim},
         {"window", kind.window > 0 ? nlohmann::json(kind.window) : nlohmann::json(nullptr)},
         {"rope_base", kind.rope.base},
         {"rope_scaling", kind.rope.scaling},
         {"kv_bytes_per_token", kv_bytes_per_token(groups[i])}});
  }
  std::uint64_t parameters = 0;
  for (const auto& [format, stored] : by_format(file)) {
    parameters += stored.weights;
    json["weights"].push_back(
        {{"format", format}, {"parameters", stored.weights}, {"bytes", stored.bytes}});
  }
  json["parameters"] = parameters > 0 ? nlohmann::json(parameters) : nlohmann::json(nullptr);
  const std::optional<std::string> format = chat_template(file);
  json["chat_template"] = format ? nlohmann::json(*format) : nlohmann::json(nullptr);
  json["kv_type"] = name_of(groups.front().shape.kv_type);
  json["kv_bytes_per_token"] = bytes_a_token;
  json["kv_bytes_at_context"] = theoretical_kv_bytes(groups, config.context);
  return json;
}

void print_line(const char* name, const std::string& value) {
  fmt::print("{:<16}{}\n", name, value);
}

void print_group(const ModelConfig& config, const std::vector<LayerGroup>& groups, int index) {
  const LayerGroup& group = groups[static_cast<std::size_t>(index)];
  const LayerKind& kind = config.kinds[static_cast<std::size_t>(index)];
  print_line(fmt::format("group {}", index).c_str(),
             fmt::format("layers {}: {} query heads over {} KV heads (group size {}) of {}, {}",
                         layer_list(config, index), config.q_heads, config.kv_heads,
                         config.q_heads / config.kv_heads, config.head_dim,
                         kind.window > 0 ? fmt::format("a window of {} tokens", kind.window)
                                         : "all tokens"));
  print_line("", fmt::format("rotary {}; KV {} bytes a token", rope_text(kind.rope),
                             kv_bytes_per_token(group)));
}

void print_table(const ModelFile& file, const std::vector<LayerGroup>& groups) {
  const ModelConfig& config = file.config();
  constexpr double kMiB = 1024.0 * 1024.0;
  print_line("architecture", config.architecture);
  print_line("layers", fmt::format("{} of width {}, feed-forward {}", config.layers, config.width,
                                   config.ffn_width));
  for (std::size_t i = 0; i < groups.size(); ++i) print_group(config, groups, static_cast<int>(i));
  print_line("vocabulary", fmt::format("{} tokens{}", config.vocab,
                                       config.tied_output ? ", output tied to the embedding" : ""));
  std::int64_t bytes_a_token = 0;
  for (const LayerGroup& group : groups) bytes_a_token += kv_bytes_per_token(group);
  print_line("chat template", chat_template(file).value_or("none"));
  print_line("context", fmt::format("{} tokens", config.context));
  print_line("KV", fmt::format("{} bytes a token in {}, {:.1f} MiB at the whole context",
                               bytes_a_token, name_of(groups.front().shape.kv_type),
                               double(theoretical_kv_bytes(groups, config.context)) / kMiB));
  std::uint64_t parameters = 0;
  std::string formats;
  for (const auto& [format, stored] : by_format(file)) {
    parameters += stored.weights;
    formats += fmt::format("{}{} {:.1f} M ({:.1f} MiB)", formats.empty() ? "" : ", ", format,
                           double(stored.weights) / 1e6, double(stored.bytes) / kMiB);
  }
  print_line("parameters", parameters > 0
                               ? fmt::format("{:.1f} M: {}", double(parameters) / 1e6, formats)
                               : "no weights here");
}

void inspect(const Flags& flags) {
  const DType kv_type = kv_type_option(flags.kv_type);
  const ModelFile file(flags.model);
  const std::vector<LayerGroup> groups = layer_groups(file.config(), DType::bf16, kv_type);
  if (flags.json)
    fmt::print("{}\n", json_of(file, groups).dump(2));
  else
    print_table(file, groups);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("inspect", "Layer groups, KV bytes a token and parameters of a model");
  command
      ->add_option("MODEL", flags->model,
                   "a .gguf file, a folder as Hugging Face has them, or a config.json")
      ->required();
  command->add_option("--kv-type", flags->kv_type, "K and V in the cache: f32, f16, bf16, f8 or i8")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON document on standard output");
  command->footer(kHelp);
  command->callback([flags] { inspect(*flags); });
}

}  // namespace headwise::cli
