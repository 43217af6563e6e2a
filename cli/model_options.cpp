#include "cli/model_options.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "cli/usage.h"
#include "core/check.h"
#include "headwise/machine.h"
#include "headwise/registry.h"

namespace headwise::cli {
namespace {

std::int64_t size_option(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() != 1) throw CLI::ValidationError(name, "takes one size, not " + text);
  return sizes.front();
}

void add_sampling_options(CLI::App& command, SamplingOptions& sampling) {
  command
      .add_option("--temperature", sampling.temperature,
                  "draw tokens, logits divided by this; 0 always takes the likeliest")
      ->capture_default_str();
  command.add_option("--top-k", sampling.top_k, "draw from the K likeliest tokens; 0: from all")
      ->capture_default_str();
  command
      .add_option("--top-p", sampling.top_p,
                  "draw from the likeliest tokens whose probabilities first reach P")
      ->capture_default_str();
  command.add_option("--seed", sampling.seed, "the same seed draws the same tokens")
      ->capture_default_str();
}

}  // namespace

DType kv_type_option(const std::string& text) {
  return parse_dtype(text == "f8" ? "f8e4m3" : text);
}

ModelOptions read_model_options(const ModelFlags& flags) {
  if (flags.maths.empty()) return {};
  for (const Maths maths : {Maths::f32, Maths::blocks, Maths::bf16})
    if (flags.maths == name_of(maths)) return {.maths = maths};
  throw CLI::ValidationError("--maths", "is f32, blocks or bf16, not " + flags.maths);
}

void add_model_options(CLI::App& command, ModelFlags& flags) {
  command.add_option("MODEL", flags.model, "a .gguf file, or a folder as Hugging Face has them")
      ->required();
  command.add_option("--max-new", flags.max_new, "most new tokens of an answer")
      ->capture_default_str();
  command.add_option("--chunk", flags.chunk, "prompt tokens a step")->capture_default_str();
  command.add_option(
      "--kv-type", flags.kv_type,
      "K and V in the cache: f32, f16, bf16, f8 (scales by the first prompt, at most a "
      "chunk of it) or i8; if not given, bf16, or f32 with other --maths");
  command.add_option(
      "--maths", flags.maths,
      "matrix products: bf16 (few rows meet the weights as they are stored, in more), blocks (the "
      "same, but many rows in f32), f32 (all in f32); if not given, what the machine is fast at");
  command.add_option("--backend", flags.backend, "run attention by this backend");
  command.add_option("--threads", flags.threads, "CPU threads; all that there are if not given")
      ->check(CLI::Range(1, 4096));
  add_sampling_options(command, flags.sampling);
  command.add_option("--stop", flags.stop, "an answer ends before this text");
  command.add_flag("--check", flags.check,
                   "compare sampled rows of attention with the reference; its time counts");
}

GenerateOptions read_options(const ModelFlags& flags) {
  GenerateOptions options;
  options.max_new = size_option("--max-new", flags.max_new);
  options.chunk = size_option("--chunk", flags.chunk);
  if (!flags.kv_type.empty()) options.kv_type = kv_type_option(flags.kv_type);
  options.backend = forced_backend(flags.backend);
  options.threads = flags.threads;
  options.check = flags.check;
  options.sampling = flags.sampling;
  options.stop = flags.stop;
  Sampler{options.sampling};  // throws now where an option is out of range
  const int available = this_machine().cpu.threads;
  if (options.threads > available)
    throw Error(ErrorCode::not_possible,
                concat("--threads ", options.threads, ": this process may run on ", available));
  if (!options.backend.empty()) Registry::builtin().find(options.backend);
  return options;
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  std::ifstream file(path, std::ios::binary);
  // A folder can be opened, but its first byte cannot be read.
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  check(file.is_open() && !file.bad(), path, ": ", std::strerror(errno));
  return std::move(text).str();
}

}  // namespace headwise::cli
