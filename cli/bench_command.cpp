#include "cli/bench_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "advisor/device/calibration_json.h"
#include "bench/bench.h"
#include "bench/calibration_maker.h"
#include "bench/gpu_peers.h"
#include "bench/table.h"
#include "cli/bench_model_command.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "cli/whole_file.h"
#include "core/check.h"
#include "core/log.h"
#include "headwise/version.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelp = R"(Suites, for a context of C tokens:
  prefill   every request has C new tokens and nothing cached
  append    every request has --new tokens behind C cached ones (kv_len is their sum)
  decode    every request has 1 new token; its kv_len, itself included, is C
  mixed     --batch decodes at C, and the first 2048 tokens (at most C) of one prompt beside them,
            in one call; also those two parts in two calls, and the ratio
  paged     decode, then prefill: keys of one piece, then shuffled pages of 64 and 16 tokens (or of
            the shape's page size), and the ratio
  claims    what is said of attention, checked here: scores in memory or not, on Hopper kernels of
            either generation, workspace, group sizes, splits along the keys, page sizes, mixed steps,
            appends. Sizes are its own but for those of --shape, --contexts, --new and --batch that
            are given
  cache     what the KV cache's bookkeeping costs a token on one core: long sequences, many sequences,
            forks, prompts that are cached. Sizes are its own
  goals     the project's goals for the device: their own shapes and contexts, each beside what is
            wanted

Every run measures the device's limits first (some seconds). Before a backend is timed, sampled rows
of what it wrote are compared with the reference; a wrong row has no time, and the exit status is 1.
K and V lie in shuffled pages, in as many copies as the last cache level cannot hold.
  fraction   of the best product, or the best read, of any probe or peer; may pass 1
  of peak    of the arithmetic units' rate (on a GPU, at the clock that was measured) or of the
             memory's datasheet; above 1 the run is void
The backend that would be chosen runs beside `standard`; --backend or HEADWISE_BACKEND runs one alone.
--device: cpu, cuda or cuda:N, where the tensors are. If not given: where the forced backend runs, else
the first GPU where there is one and this build has CUDA.
--peers: other libraries run beside it, each in a process of its own, checked and timed the same way in
alternating rounds. On the CPU OpenVINO, ONNX Runtime, PyTorch and ggml, which bench/peers/setup.sh sets
up; on a GPU PyTorch's SDPA (FlashAttention-2, cuDNN), FlashInfer, JAX, FlashAttention-3 where
HEADWISE_FA3 and HEADWISE_VLLM_FA3 name its libraries, and FlashAttention-4 where HEADWISE_FA4 names the
folder of its packages, by the python3 on PATH or HEADWISE_GPU_PYTHON.
"x peer" is the speed in that of the fastest of them.

--lens: how the contexts of a batch differ: even; zipf (C/128 times 1 to 128, small ones more often);
one-long (one of C, the others of C/128); or a file with a context a line, in place of --contexts and
--batch.
--shared-prefix N: the requests' first N tokens are the same, and lie in the same pages (whole ones); of
append, decode and the decodes of mixed.
--outliers N: of N rows of q (a row is a token's query head) about one is multiplied by 64, so that its
logits spread as much more; 1: each row, 0: none. Kernels that count on a range of logits take rows that
leave it again: notes say how many where the backend counts them.
--batch-invariant: plans are made so that a token's bits do not depend on what else is in the step, nor
on how its prompt is cut; what that costs shows beside a run without. Peers are not told.
--only PATTERN: goals, claims and rows of cache whose name has this regular expression, such as
"decode.*f8", "memory" or "cache fork".
A goal's name is its suite, shape, context, new tokens, batch, lens, prefix and outliers: "append
q32:kv8:d128 32768 new 64".
--protocol: sustained (calls back to back), burst (calls after rests), graph (replayed CUDA graphs, on
GPUs). If not given: sustained, but graph for calls on a GPU that should take less than 0.3 ms.

Examples:
  headwise bench prefill append decode --contexts 4k --new 64
  headwise bench decode --shape q32:kv8:d128:f8 --contexts 4k,32k --batch 16 --json
  headwise bench mixed --batch 32 --contexts 2k --device cpu --threads 1 --save mixed.json
  headwise bench decode --contexts 33k --batch 64 --shared-prefix 32k
  headwise bench prefill --contexts 16k --outliers 10000
  headwise bench claims
  headwise bench cache
  headwise bench goals --peers --only decode --save goals.json)";

struct Flags {
  std::vector<std::string> suites;
  std::string shape = "q32:kv8:d128";
  std::string backend;
  std::string device;
  std::string contexts = "4k";
  std::string new_tokens = "64";
  std::int64_t batch = 1;
  std::string lens = "even";
  std::string shared_prefix;
  std::int64_t outliers = 0;
  std::string only;
  std::string protocol;
  int threads = 0;
  bool batch_invariant = false;
  std::uint64_t seed = 0;
  std::string save;
  bool peers = false;
  bool json = false;
};

/// Options that would have no effect are refused: the user means something by them.
void refuse_idle_options(const CLI::App& command, const bench::BenchOptions& options) {
  using bench::Suite;
  const std::vector<Suite>& suites = options.suites;
  const auto only_of = [&](std::initializer_list<Suite> some) {
    return std::all_of(suites.begin(), suites.end(), [&](Suite suite) {
      return std::find(some.begin(), some.end(), suite) != some.end();
    });
  };
  const auto refuse = [&](const char* name, bool idle, const char* why) {
    if (idle && command.count(name) > 0) throw CLI::ValidationError(name, why);
  };
  refuse("--new",
         std::none_of(suites.begin(), suites.end(), bench::takes_new_tokens) &&
             only_of({Suite::prefill, Suite::decode, Suite::mixed, Suite::paged, Suite::cache,
                      Suite::goals}),
         "only the suites append and claims have new tokens to choose");
  refuse("--shared-prefix", std::none_of(suites.begin(), suites.end(), bench::takes_shared_prefix),
         "only requests of append, decode and mixed have cached tokens to share");
  refuse("--outliers", only_of({Suite::cache, Suite::goals}),
         "the cache has no queries, and goals have outliers of their own");
  refuse("--batch-invariant", only_of({Suite::cache}), "the cache computes no attention");
  refuse("--only",
         only_of({Suite::prefill, Suite::append, Suite::decode, Suite::mixed, Suite::paged}),
         "it chooses among goals, claims and rows of cache");
  refuse("--peers", only_of({Suite::claims, Suite::cache}),
         "claims and the cache are about Headwise alone");
  refuse("--lens", only_of({Suite::claims, Suite::cache, Suite::goals}),
         "the suites claims, cache and goals have their own");
  for (const char* name : {"--shape", "--contexts", "--batch"})
    refuse(name, only_of({Suite::cache, Suite::goals}),
           "the suites cache and goals have shapes and contexts of their own");
  for (const char* name : {"--backend", "--protocol"})
    refuse(name, only_of({Suite::cache}), "the cache's bookkeeping has neither");
  if (options.workload.lens.kind != bench::Lens::Kind::listed) return;
  for (const char* name : {"--contexts", "--batch"})
    if (command.count(name) > 0)
      throw CLI::ValidationError(name, "the file of --lens lists the contexts of the batch");
}

std::int64_t size_option(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() > 1) throw CLI::ValidationError(name, "one number of tokens");
  return sizes.front();
}

std::string pattern_option(const std::string& name, const std::string& text) {
  try {
    const std::regex valid(text);
  } catch (const std::regex_error&) {
    throw CLI::ValidationError(name, "'" + text + "' is no regular expression");
  }
  return text;
}

/// "cpu", "cuda", "cuda:1".
Device parse_device(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceType::cuda, 0};
  const std::string digits = text.starts_with("cuda:") ? text.substr(5) : "";
  const bool number = !digits.empty() && digits.size() < 4 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  if (!number)
    throw Error(ErrorCode::unknown_name,
                concat("unknown device '", text, "'; there are cpu, cuda and cuda:N"));
  return {DeviceType::cuda, std::stoi(digits)};
}

Device choose_device(const std::string& wish, const std::string& backend) {
  const bool has_cuda = cuda_architectures() != "none";
  if (!wish.empty()) {
    const Device device = parse_device(wish);
    if (device.type == DeviceType::cuda && !has_cuda)
      throw Error(ErrorCode::not_possible, concat("--device ", wish, ": this build has no CUDA"));
    return device;
  }
  if (!backend.empty()) return {Registry::builtin().find(backend).device_type(), 0};
  if (has_cuda && !this_machine().gpus.empty()) return {DeviceType::cuda, 0};
  return {};
}

void set_device(const Flags& flags, bench::BenchOptions& options) {
  options.device = choose_device(flags.device, options.backend);
  const bool gpu = options.device.type == DeviceType::cuda;
  if (gpu) options.timing = bench::gpu_timing();
  if (!flags.peers) return;
  options.peers =
      gpu ? bench::gpu_peers(bench::program_folder()) : bench::find_peers(bench::peers_folder());
}

bench::ClaimOptions claim_options(const CLI::App& command, const bench::BenchOptions& options) {
  bench::ClaimOptions claims;
  if (command.count("--shape") > 0) claims.shape = options.shape;
  if (command.count("--contexts") > 0) claims.contexts = options.workload.contexts;
  if (command.count("--new") > 0) claims.new_tokens = options.workload.new_tokens.front();
  if (command.count("--batch") > 0) claims.batch = options.workload.batch;
  return claims;
}

bench::BenchOptions read_options(const CLI::App& command, const Flags& flags) {
  bench::BenchOptions options;
  for (const std::string& suite : flags.suites) options.suites.push_back(bench::parse_suite(suite));
  options.shape = shape_option(flags.shape);
  options.backend = forced_backend(flags.backend);
  if (!options.backend.empty()) Registry::builtin().find(options.backend);
  options.workload = {.contexts = sizes_option("--contexts", flags.contexts),
                      .new_tokens = sizes_option("--new", flags.new_tokens),
                      .batch = flags.batch,
                      .prompts = 1,
                      .lens = bench::parse_lens(flags.lens),
                      .shared_prefix = flags.shared_prefix.empty()
                                           ? 0
                                           : size_option("--shared-prefix", flags.shared_prefix),
                      .outliers = flags.outliers,
                      .seed = flags.seed};
  if (!flags.protocol.empty()) options.protocol = bench::parse_protocol(flags.protocol);
  options.claims = claim_options(command, options);
  options.only = pattern_option("--only", flags.only);
  refuse_idle_options(command, options);
  if (flags.outliers > 0 && options.shape.shape.q_type == DType::f32)
    throw Error(ErrorCode::not_possible,
                "--outliers: F32's sums of logits in the hundreds are too coarse for the bound on "
                "F32's outputs");
  const int available = this_machine().cpu.threads;
  if (flags.threads > available)
    throw Error(ErrorCode::not_possible,
                concat("--threads ", flags.threads, ": this process may run on ", available));
  options.threads = flags.threads;
  options.batch_invariant = flags.batch_invariant;
  set_device(flags, options);
  options.progress = show_progress;
  options.stop = interrupted;
  return options;
}

/// Ends the command with its exit status where the report is no success.
void judge(const bench::BenchReport& report) {
  if (report.interrupted) {
    log(LogLevel::warning, "interrupted; these are the rows so far");
    throw CLI::RuntimeError(kInterrupted);
  }
  if (report.wrong)
    throw Error(ErrorCode::invalid_input, "a backend's rows failed their check: see the notes");
  if (report.is_void())
    throw Error(ErrorCode::invalid_input,
                "the run is void: a row was faster than the physical peak that was measured, so "
                "something disturbed the measurement; repeat it on a quiet machine");
  const bool timed = std::any_of(report.rows.begin(), report.rows.end(),
                                 [](const bench::Row& row) { return row.ms.has_value(); });
  const bool judged =
      std::any_of(report.claims.begin(), report.claims.end(),
                  [](const bench::Claim& claim) { return claim.holds.has_value(); });
  if (!timed && !judged && report.cache.empty())
    throw Error(ErrorCode::not_possible, "no backend could be timed: " + report.rows.front().note);
}

void run(const CLI::App& command, const Flags& flags) {
  const bench::BenchOptions options = read_options(command, flags);
  if (!flags.save.empty()) check_writable(flags.save);
  catch_interrupt();
  const bench::BenchReport report = bench::run_bench(options, Registry::builtin(), this_machine());
  clear_progress();
  nlohmann::ordered_json document = bench::to_json(report);
  std::string asked = "headwise bench";
  for (const std::string& suite : flags.suites) asked += " " + suite;
  if (const auto calibration = bench::calibration_of(report, asked + " --shape " + flags.shape))
    document["calibration"] = calibration_json(*calibration);
  const std::string json = document_text(document);
  std::cout << (flags.json ? json : bench::format_table(report)) << std::flush;
  if (!flags.save.empty()) write_whole(flags.save, json);
  judge(report);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "bench", "Time attention, and say how near it comes to the machine's limits");
  command->add_option("SUITE", flags->suites,
                      "prefill, append, decode, mixed, paged, claims, cache, goals: one or more");
  command->add_option("--shape", flags->shape, kShapeHelp)->capture_default_str();
  command->add_option("--backend", flags->backend, "run this backend alone");
  command->add_option("--device", flags->device, "cpu, cuda or cuda:N (see below)");
  command->add_option("--contexts", flags->contexts, "tokens, such as 4k,32k (k and m are 1024s)")
      ->capture_default_str();
  command->add_option("--new", flags->new_tokens, "new tokens of append, such as 64,512")
      ->capture_default_str();
  command->add_option("--batch", flags->batch, "requests")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_option("--lens", flags->lens, "even, zipf, one-long or a file")
      ->capture_default_str();
  command->add_option("--shared-prefix", flags->shared_prefix,
                      "tokens that all requests begin with (see below)");
  command->add_option("--outliers", flags->outliers, "one query row in so many (see below)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--only", flags->only, "a part of goals, claims or cache (see below)");
  command->add_option("--threads", flags->threads, "CPU threads; all that there are if not given")
      ->check(CLI::PositiveNumber);
  command->add_flag("--batch-invariant", flags->batch_invariant,
                    "a token's bits do not depend on the rest of the step (see below)");
  command->add_option("--protocol", flags->protocol, "sustained, burst or graph (see below)");
  command->add_option("--seed", flags->seed, "of the random data, tables and lengths")
      ->capture_default_str();
  command->add_flag("--peers", flags->peers, "run other libraries beside (see below)");
  command->add_option("--save", flags->save,
                      "write the JSON document to this file, too: also a calibration for codesign");
  command->add_flag("--json", flags->json, "one JSON document on standard output, no table");
  command->footer(kHelp);
  add_bench_model_command(*command);
  command->callback([command, flags] {
    if (!command->get_subcommands().empty()) return;
    if (flags->suites.empty()) throw CLI::RequiredError("SUITE");
    run(*command, *flags);
  });
}

}  // namespace headwise::cli
