// quality CHECK... : judges the engine by what transformers says in F32 (tests/data/quality).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/check.h"
#include "tests/model/model_file.h"
#include "tests/quality/checks.h"
#include "tests/quality/engine_model.h"

namespace headwise::quality {
namespace {

struct Flags {
  std::vector<std::string> checks;
  std::vector<std::string> models = {"smollm2", "gemma3"};
  std::vector<std::string> maths = {"f32", "bf16"};
  std::string kv_type;  // "": as the maths
  std::int32_t chunk = 512;
  int threads = 0;
  std::int64_t longest = 8128;
  bool whole = false;
  std::string text;
  std::int64_t context = 4096;
  std::size_t windows = 0;
};

void add_options(CLI::App& app, Flags& flags) {
  app.add_option("CHECK", flags.checks, "continuation, kl, perplexity")
      ->required()
      ->check(CLI::IsMember({"continuation", "kl", "perplexity"}));
  app.add_option("--model", flags.models, "smollm2, gemma3; both if not given");
  app.add_option("--maths", flags.maths, "f32, blocks, bf16; the first and the last if not given")
      ->check(CLI::IsMember({"f32", "blocks", "bf16"}));
  app.add_option("--kv-type", flags.kv_type, "of K and V in the cache; f32 or bf16, as the maths");
  app.add_option("--chunk", flags.chunk, "tokens a step")->capture_default_str();
  app.add_option("--threads", flags.threads, "CPU threads; all if not given");
  app.add_option("--longest", flags.longest, "continuation: leave longer prompts out, in tokens")
      ->capture_default_str();
  app.add_flag("--whole", flags.whole,
               "kl: by the whole rows that scripts/model_oracle/quality.py keeps in the cache");
  app.add_option("--text", flags.text,
                 "perplexity: a file with what bible -f gen1:1-rev22:21 prints");
  app.add_option("--context", flags.context, "perplexity: tokens of a window")
      ->capture_default_str();
  app.add_option("--windows", flags.windows, "perplexity: so many of them; all if not given");
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "--text: '", path, "' cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

EngineOptions options_of(const Flags& flags, const std::string& maths, const Golden& golden) {
  const bool bf16 = maths == "bf16";
  EngineOptions options{.maths = bf16                ? Maths::bf16
                                 : maths == "blocks" ? Maths::blocks
                                                     : Maths::f32,
                        .kv_type = bf16 ? DType::bf16 : DType::f32,
                        .chunk = flags.chunk,
                        .capacity = 0,
                        .threads = flags.threads};
  if (!flags.kv_type.empty()) options.kv_type = parse_dtype(flags.kv_type);
  std::size_t capacity = static_cast<std::size_t>(flags.context);
  for (const Continuation& c : golden.continuations)
    if (std::ssize(c.prompt) <= flags.longest)
      capacity = std::max(capacity, c.prompt.size() + c.greedy.size());
  options.capacity = static_cast<std::int32_t>(capacity);
  return options;
}

std::vector<Verdict> judge(const std::string& which, JudgedModel& model, const Golden& golden,
                           const Flags& flags, DType kv_type) {
  if (which == "continuation") return check_continuations(model, golden, flags.longest);
  if (which == "perplexity")
    return {check_perplexity(model, golden, read_text(flags.text), flags.context, flags.windows,
                             size_of(kv_type) == 1)};
  const std::string rows = golden.name + ".logprobs.f32";
  return {
      check_distributions(model, golden, flags.whole ? model_folder() / "reference" / rows : "")};
}

/// Returns the number of checks that failed. One that cannot be made is a failure, too.
int judge_model(const std::string& name, const Flags& flags) {
  const Golden golden = Golden::read(HEADWISE_QUALITY_DATA, name);
  const std::filesystem::path file = model_folder() / golden.model_file;
  if (!std::filesystem::is_regular_file(file)) {
    fmt::print("skipped: {}: {} is not there; nothing was judged\n", name, file.string());
    return 0;
  }
  int failed = 0;
  for (const std::string& maths : flags.maths) {
    const EngineOptions options = options_of(flags, maths, golden);
    const std::unique_ptr<JudgedModel> model = open_engine(file, options);
    for (const std::string& which : flags.checks) {
      for (const Verdict& v : judge(which, *model, golden, flags, options.kv_type)) {
        fmt::print("{:7}  {:4} maths, {:6} KV  {:32} {:6}  {}\n", name, maths,
                   name_of(options.kv_type), v.check, v.passed ? "passed" : "FAILED", v.figures);
        std::fflush(stdout);
        failed += v.passed ? 0 : 1;
      }
    }
  }
  return failed;
}

int run(int argc, char** argv) {
  CLI::App app("Judges the engine by what an independent implementation says in F32.");
  Flags flags;
  add_options(app, flags);
  CLI11_PARSE(app, argc, argv);
  int failed = 0;
  for (const std::string& name : flags.models) failed += judge_model(name, flags);
  if (failed > 0) fmt::print("{} failed\n", failed);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace headwise::quality

int main(int argc, char** argv) try {
  return headwise::quality::run(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "quality: {}\n", error.what());
  return 1;
}
