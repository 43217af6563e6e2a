#include <sys/stat.h>

#include "tests/model/hf_writer.h"
#include "tests/model/hostile_files.h"

namespace headwise {
namespace {

using Json = nlohmann::json;
using std::filesystem::path;

void write(const path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

HostileFile config_file(const std::string& what, const std::string& bytes,
                        const std::string& message) {
  return {"config.json: " + what, "config.json", "/config.json: " + message,
          [bytes](const path& folder) { write(folder / "config.json", bytes); }};
}

/// tiny_hf_config with `text` as the value of a field, JSON or not.
std::string config_with(const std::string& field, const std::string& text) {
  Json json = tiny_hf_config();
  json.erase(field);
  std::string bytes = json.dump();
  bytes.pop_back();
  return bytes + ", \"" + field + "\": " + text + "}";
}

HostileFile field(const std::string& name, const std::string& text, const std::string& message) {
  return config_file(name + " is " + text.substr(0, 32), config_with(name, text), message);
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<HostileFile> hostile_config_texts() {
  return {
      config_file("no JSON", "hidden_size = 8", "is not JSON at byte 1"),
      config_file("an array", "[]", "the file is not a JSON object"),
      config_file("no field", "{}", "field 'model_type' is missing"),
      config_file("an LFS pointer", "version https://git-lfs.github.com/spec/v1\nsize 1\n",
                  "is a Git LFS pointer, not the file itself"),
      config_file("a million open arrays", repeated("[", 1000000), "is nested deeper than 16"),
      config_file("a million open objects", repeated("{\"a\":", 200000),
                  "is nested deeper than 16 (behind 'a')"),
      config_file("longer than any", std::string((1 << 20) + 1, ' '),
                  "is longer than 1048576 bytes of JSON"),
      config_file("200000 values", config_with("x", "[0" + repeated(",0", 200000) + "]"),
                  "holds more than 32768 values (behind 'x')"),
      config_file("a field twice", "{\"hidden_size\": 8, \"hidden_size\": 9}",
                  "field 'hidden_size' appears twice"),
      config_file("a field of 100000 letters", "{\"" + std::string(100000, 'n') + "\": nan}",
                  "is not JSON at byte 100007 (behind '" + std::string(64, 'n') + "...')"),
      config_file("bytes that are no UTF-8", "{\"a\": \"\xff\xfe\"}",
                  "is not JSON at byte 8 (behind 'a')"),
      config_file("a zero byte", std::string("{\"a\": 1}\0", 9), "is not JSON at byte 9"),
      config_file("more behind its end", "{\"a\": 1} {\"b\": 2}", "is not JSON at byte 10"),
  };
}

std::vector<HostileFile> hostile_config_fields() {
  return {
      field("rope_theta", "NaN", "is not JSON at byte 269 (behind 'rope_theta')"),
      field("rope_theta", "Infinity", "is not JSON at byte 269 (behind 'rope_theta')"),
      field("rope_theta", "1e999", "holds a number that is out of range (behind 'rope_theta')"),
      field("rope_theta", "-1e300", "field 'rope_theta' is out of range: -1e+300"),
      field("hidden_size", "-8", "field 'hidden_size' is negative"),
      field("hidden_size", "8.5", "field 'hidden_size' is not an integer"),
      field("hidden_size", "99999999999999999999", "field 'hidden_size' is not an integer"),
      field("hidden_size", "18446744073709551615",
            "field 'hidden_size' is out of range: 18446744073709551615"),
      field("hidden_size", "[8]", "field 'hidden_size' is not an integer"),
      field("num_hidden_layers", "2147483647", "field 'num_hidden_layers' is out of range: "),
      field("num_attention_heads", "1048576", "field 'num_attention_heads' is out of range: "),
      field("head_dim", "1048576", "field 'head_dim' is out of range: 1048576"),
      field("architectures", "[\"" + std::string(1000, 'A') + "\"]",
            "architecture '" + std::string(64, 'A') + "...' is not supported"),
      field("architectures", "[1]", "field 'architectures' holds something other than strings"),
      field("rope_scaling", "{\"type\": \"yarn\", \"factor\": 1e300}",
            "field 'rope_scaling.factor' is out of range: 1e+300"),
      field("quantization_config", "{}", "field 'quantization_config' is not supported"),
      field("num_local_experts", "8", "field 'num_local_experts' is not supported"),
  };
}

/// A folder with a good config.json and the given file.
HostileFile folder_with(const std::string& what, const std::string& name, const std::string& bytes,
                        const std::string& message) {
  return {what, "", message, [name, bytes](const path& folder) {
            write(folder / "config.json", tiny_hf_config().dump());
            write(folder / name, bytes);
          }};
}

HostileFile weights(const std::string& what, const std::string& bytes, const std::string& message) {
  return folder_with("safetensors: " + what, "model.safetensors", bytes,
                     "/model.safetensors: " + message);
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" +
         offsets + "}}";
}

HostileFile one_tensor(const std::string& what, const std::string& shape,
                       const std::string& offsets, const std::string& message) {
  return weights(what, safetensors(entry("F32", shape, offsets), std::string(16, '\0')),
                 "tensor 'w': " + message);
}

/// As much for the parser to keep as there can be: names that lie outside of their strings, and
/// objects for values.
std::string costly_header() {
  std::string fields;
  for (int i = 0; fields.size() < (std::size_t{8} << 20) - 64; ++i) {
    fields +=
        (i == 0 ? "\"" : ",\"") + std::string(32, 'n') + std::to_string(1000000 + i) + "\":{}";
  }
  return "{" + fields + "}";
}

std::vector<HostileFile> hostile_headers() {
  const auto length = [](std::uint64_t value) { return Bytes().number(value).text(); };
  return {
      weights("7 bytes", "1234567", "the header's length needs 8 bytes where 7 are left"),
      weights("a header longer than the file", length(1000) + "{}",
              "the header needs 1000 bytes where 2 are left in the file"),
      weights("a header of 2^64 - 1 bytes", length(~std::uint64_t{0}) + "{}",
              "the header needs 18446744073709551615 bytes where 2 are left in the file"),
      weights("a header of no bytes", length(0), "the header: is not JSON at byte 1"),
      weights("an LFS pointer", "version https://git-lfs.github.com/spec/v1\nsize 1\n",
              "is a Git LFS pointer, not the weights"),
      weights("an array for a header", safetensors("[]", ""), "the header is not a JSON object"),
      weights("a deep header", safetensors(repeated("{\"a\":", 100000), ""),
              "the header: is nested deeper than 4 (behind 'a')"),
      weights("a header of 9 MB", safetensors(std::string(9 << 20, ' '), ""),
              "the header: is longer than 8388608 bytes of JSON"),
      weights("a header of a million values",
              safetensors("{\"w\": [0" + repeated(",0", 1000000) + "]}", ""),
              "the header: holds more than 32768 values (behind 'w')"),
      weights("a costly header", safetensors(costly_header(), ""),
              "the header: holds more than 32768 values (behind 'nnnn"),
      weights("a tensor twice", safetensors(R"({"w": {}, "w": {}})", ""),
              "the header: field 'w' appears twice"),
      weights("a tensor that is no object", safetensors(R"({"w": 1})", ""),
              "tensor 'w': field 'entry' is not a JSON object"),
      weights("a tensor without a type", safetensors(R"({"w": {"shape": [1]}})", ""),
              "tensor 'w': field 'entry.dtype' is missing"),
      weights("a tensor of another type", safetensors(entry("I64", "[2]", "[0, 16]"), "1234"),
              "tensor 'w': type 'I64' is not supported: F32, F16 and BF16 are"),
      weights("a field more",
              safetensors(R"({"w": {"dtype": "F32", "shape": [1], "data_offsets":
              [0, 4], "scale": 2}})",
                          "1234"),
              "tensor 'w': field 'entry.scale' is not supported"),
      weights("data of no tensor", safetensors("{}", "1234"),
              "4 bytes of data belong to no tensor"),
  };
}

std::vector<HostileFile> hostile_tensors() {
  const auto two = [](const std::string& what, const std::string& second,
                      const std::string& message) {
    const std::string header = R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
      "b": {"dtype": "F32", "shape": [2], "data_offsets": )" +
                               second + "}}";
    return weights(what, safetensors(header, std::string(16, '\0')), message);
  };
  return {
      one_tensor("no shape", "[]", "[0, 16]", "shape does not hold 1 to 4 numbers"),
      one_tensor("five dimensions", "[1, 1, 1, 1, 4]", "[0, 16]",
                 "shape does not hold 1 to 4 numbers"),
      one_tensor("a size of 0", "[0]", "[0, 0]", "impossible size 0"),
      one_tensor("a negative size", "[-4]", "[0, 16]",
                 "shape holds something other than integers from 0"),
      one_tensor("a size of 4.0", "[4.0]", "[0, 16]",
                 "shape holds something other than integers from 0"),
      one_tensor("a product that wraps to 0", "[4294967296, 4294967296]", "[0, 0]",
                 "impossible size 4294967296"),
      one_tensor("a size whose bytes wrap", "[4611686018427387908]", "[0, 16]",
                 "impossible size 4611686018427387908"),
      one_tensor("offsets past the end", "[8]", "[0, 32]", "lies at 0 to 32 of 16 bytes of data"),
      one_tensor("offsets that wrap", "[4]", "[18446744073709551608, 8]",
                 "lies at 18446744073709551608 to 8 of 16 bytes of data"),
      one_tensor("offsets in reverse", "[4]", "[16, 0]", "lies at 16 to 0 of 16 bytes of data"),
      one_tensor("one offset", "[4]", "[0]", "data_offsets does not hold 2 numbers"),
      one_tensor("fewer bytes than weights", "[4]", "[0, 12]", "needs 16 bytes, has 12"),
      two("an overlap", "[4, 12]", "tensor 'b' begins at 4 inside of what ends at 8"),
      two("one place for two", "[0, 8]", "tensor 'b' begins at 0 inside of what ends at 8"),
      weights("a gap", safetensors(entry("F32", "[3]", "[4, 16]"), std::string(16, '\0')),
              "tensor 'w' begins at 4 behind a gap after what ends at 0"),
      weights("a tensor that no model has", tiny_hf_weights().tensor("zz", {1}).text(),
              "tensor 'zz' is not understood"),
      folder_with("safetensors: a tensor of a layer that there is not", "model.safetensors",
                  tiny_hf_weights().tensor("model.layers.9.mlp.up_proj.weight", {1}).text(),
                  ": tensor 'blk.9.ffn_up.weight' is no part of a llama model"),
      folder_with("safetensors: a missing tensor", "model.safetensors",
                  SafetensorsWriter().tensor("model.norm.weight", {8}).text(),
                  ": tensor 'token_embd.weight' is missing"),
      folder_with("safetensors: another shape", "model.safetensors",
                  SafetensorsWriter().tensor("model.embed_tokens.weight", {8, 10}).text(),
                  ": tensor 'token_embd.weight' is 10 x 8, not 8 x 10"),
  };
}

HostileFile index(const std::string& what, const std::string& bytes, const std::string& message) {
  return {"index: " + what, "", message, [bytes](const path& folder) {
            write(folder / "config.json", tiny_hf_config().dump());
            write(folder / "a.safetensors", tiny_hf_weights().text());
            write(folder / "model.safetensors.index.json", bytes);
          }};
}

HostileFile shard_named(const std::string& name) {
  return index("a shard named " + name, Json{{"weight_map", {{"w", name}}}}.dump(),
               "/model.safetensors.index.json: field 'weight_map.w' is '" + name +
                   "', not the name of a .safetensors file in the folder");
}

std::vector<HostileFile> hostile_indices() {
  const std::string at = "/model.safetensors.index.json: ";
  Json map;
  for (const std::string& name : tiny_hf_weights().names()) map[name] = "a.safetensors";
  Json fewer = map;
  fewer.erase("model.norm.weight");
  Json more = map;
  more["lm_head.weight"] = "a.safetensors";
  const auto text = [](const Json& weight_map) { return Json{{"weight_map", weight_map}}.dump(); };
  return {
      shard_named("../a.safetensors"),
      shard_named("/etc/a.safetensors"),
      shard_named("x/../../a.safetensors"),
      shard_named(".safetensors"),
      shard_named("a.gguf"),
      shard_named(""),
      index("a shard that is not there", text({{"w", "b.safetensors"}}),
            "/b.safetensors: No such file or directory"),
      index("a shard that is no string", R"({"weight_map": {"w": 1}})",
            at + "field 'weight_map.w' is not a string"),
      index("no map", "{}", at + "field 'weight_map' is missing"),
      index("no JSON", "{\"weight_map\"", at + "is not JSON at byte 14"),
      index("a tensor twice", R"({"weight_map": {"w": "a.safetensors", "w": "a.safetensors"}})",
            at + "field 'w' appears twice"),
      index("a tensor that is not in the index", text(fewer),
            at + "tensor 'model.norm.weight' of a.safetensors is not in the index as such"),
      index("a tensor that is not in its shard", text(more),
            at + "tensor 'lm_head.weight' is not in a.safetensors"),
      index("an empty map", R"({"weight_map": {}})", ": tensor 'token_embd.weight' is missing"),
  };
}

}  // namespace

std::vector<HostileFile> hostile_hf_files() {
  std::vector<HostileFile> files;
  for (const auto& list : {hostile_config_texts(), hostile_config_fields(), hostile_headers(),
                           hostile_tensors(), hostile_indices()}) {
    files.insert(files.end(), list.begin(), list.end());
  }
  return files;
}

std::vector<HostileFile> hostile_special_files() {
  const auto nothing = [](const path&) {};
  const auto pipe = [](const char* name) {
    return [name](const path& folder) { mkfifo((folder / name).c_str(), 0600); };
  };
  const auto empty = [](const char* name) {
    return [name](const path& folder) { write(folder / name, ""); };
  };
  return {
      {"an empty folder", "", "/config.json: No such file or directory", nothing},
      {"nothing", "model.gguf", "/model.gguf: No such file or directory", nothing},
      {"an empty GGUF file", "model.gguf", "/model.gguf: is empty", empty("model.gguf")},
      {"an empty config.json", "config.json", "/config.json: is empty", empty("config.json")},
      {"a pipe", "model.gguf", "/model.gguf: is not a regular file", pipe("model.gguf")},
      {"a pipe for a config.json", "", "/config.json: is not a regular file", pipe("config.json")},
      {"a folder for a config.json", "", "/config.json: is a directory, not a model file",
       [](const path& folder) { std::filesystem::create_directory(folder / "config.json"); }},
      {"a link to itself", "model.gguf", "/model.gguf: Too many levels of symbolic links",
       [](const path& folder) {
         std::filesystem::create_symlink("model.gguf", folder / "model.gguf");
       }},
      {"no weights", "", "/model.safetensors: No such file or directory",
       [](const path& folder) { write(folder / "config.json", tiny_hf_config().dump()); }},
      {"a pipe for weights", "", "/model.safetensors: is not a regular file",
       [pipe](const path& folder) {
         write(folder / "config.json", tiny_hf_config().dump());
         pipe("model.safetensors")(folder);
       }},
      {"a folder for an index", "", "/model.safetensors.index.json: is a directory",
       [](const path& folder) {
         write(folder / "config.json", tiny_hf_config().dump());
         std::filesystem::create_directory(folder / "model.safetensors.index.json");
       }},
  };
}

std::vector<HostileFile> all_hostile_files() {
  std::vector<HostileFile> files;
  for (const auto& list : {hostile_gguf_files(), hostile_hf_files(), hostile_special_files()}) {
    files.insert(files.end(), list.begin(), list.end());
  }
  return files;
}

}  // namespace headwise
