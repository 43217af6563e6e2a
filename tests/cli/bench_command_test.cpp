#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "headwise/version.h"
#include "tests/cli/run_program.h"

namespace headwise::cli {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

/// A bench of a moment, besides its probes.
Arguments small_bench(const Arguments& more) {
  Arguments arguments{"bench",      "decode", "--shape",  "q4:kv2:d16",
                      "--contexts", "64",     "--device", "cpu"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_refused(const Arguments& arguments, int status, const Arguments& parts) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& part : parts) EXPECT_TRUE(has(outcome.err, part)) << outcome.err;
}

TEST(BenchCommand, RefusesWrongUsageBeforeItMeasures) {
  expect_refused({"bench"}, 2, {"SUITE"});
  expect_refused({"bench", "decode", "prefil"}, 2,
                 {"prefil", "prefill", "append", "decode", "mixed", "paged", "claims", "goals"});
  expect_refused(small_bench({"--batch", "0"}), 2, {"--batch"});
  expect_refused(small_bench({"--threads", "0"}), 2, {"--threads"});
  expect_refused(small_bench({"--lens", "zpif"}), 2, {"zpif", "one-long"});
  expect_refused(small_bench({"--protocol", "steady"}), 2, {"steady", "sustained", "burst"});
  expect_refused(small_bench({"--new", "8"}), 2, {"--new", "append"});
  for (const char* device : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0"})
    expect_refused({"bench", "decode", "--device", device}, 2, {device, "cpu, cuda and cuda:N"});
  expect_refused({"bench", "decode", "--contexts", "4k,"}, 2, {"--contexts"});
  expect_refused({"bench", "decode", "--contexts", "3000m"}, 2, {"3000m"});
  for (const char* option : {"--shape=q4:kv2:d16", "--contexts=64", "--batch=2", "--lens=zipf"})
    expect_refused({"bench", "goals", option}, 2, {"goals", std::string(option).substr(0, 6)});
  expect_refused({"bench", "claims", "--lens=zipf"}, 2, {"--lens"});
  expect_refused({"bench", "claims", "--peers"}, 2, {"--peers"});
  expect_refused(small_bench({"--only", "decode"}), 2, {"--only"});
  expect_refused({"bench", "goals", "--only", "("}, 2, {"--only", "'('"});
  expect_refused({"bench", "prefill", "--shared-prefix", "64"}, 2, {"--shared-prefix"});
  expect_refused(small_bench({"--shared-prefix", "64,32"}), 2, {"--shared-prefix"});
  expect_refused(small_bench({"--shared-prefix", "64"}), 1, {"64", "63"});
  for (const char* outliers : {"-1", "many", "2.5", "1k"})
    expect_refused(small_bench({"--outliers", outliers}), 2, {"--outliers", outliers});
  expect_refused({"bench", "goals", "--outliers", "10"}, 2, {"--outliers", "goals"});
  expect_refused({"bench", "cache", "--outliers", "10"}, 2, {"--outliers", "goals"});
  expect_refused({"bench", "cache", "--batch-invariant"}, 2, {"--batch-invariant", "attention"});
}

TEST(BenchCommand, SaysWhatThisMachineCannot) {
  expect_refused(small_bench({"--protocol", "graph"}), 3, {"graph", "CPU"});
  expect_refused(small_bench({"--threads", "1000000"}), 3, {"1000000"});
  expect_refused({"bench", "decode", "--shape", "q4:kv2:d16:f32", "--outliers", "9"}, 3,
                 {"--outliers", "F32"});
  const bool has_cuda = cuda_architectures() != "none";
  expect_refused({"bench", "decode", "--device", "cuda:99"}, 3,
                 {has_cuda ? "no GPU cuda:99" : "this build has no CUDA"});
  expect_refused({"bench", "decode", "--device", "cpu", "--backend", "cuda-sm80"}, 3,
                 {has_cuda ? "tensors are on cpu" : "this build has no CUDA"});
}

TEST(BenchCommand, RefusesAPathItCannotWriteBeforeItMeasures) {
  expect_refused(small_bench({"--save", "/nonexistent/bench.json"}), 1,
                 {"/nonexistent/bench.json"});
}

TEST(BenchCommand, PrintsOneJsonDocumentAndSavesIt) {
  const std::string path = testing::TempDir() + "headwise_bench.json";
  const Outcome outcome = run_program(small_bench(
      {"append", "--new", "8", "--threads", "1", "--outliers", "2", "--json", "--save", path}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(json::parse(std::ifstream(path)), document);
  std::remove(path.c_str());

  ASSERT_GE(document["rows"].size(), 4U);
  for (const json& row : document["rows"]) {
    EXPECT_EQ(row.size(), 25U);
    EXPECT_EQ(row["lens"], "even, outliers 2");
    EXPECT_TRUE(row["ms"].is_number() || row["note"].is_string()) << row;
  }
  EXPECT_EQ(document["rows"][0]["suite"], "decode");
  EXPECT_EQ(document["rows"].back()["suite"], "append");
  EXPECT_EQ(document["rows"].back()["kv_len"], 72);
  EXPECT_GT(document["limits"]["read_gbps"], 0.0);
  // Not a terminal: no progress, and the log has the choice of each suite.
  EXPECT_FALSE(has(outcome.err, "\r"));
  EXPECT_TRUE(has(outcome.err, "attention: layers 0 decode -> ")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "attention: layers 0 append -> ")) << outcome.err;
}

TEST(BenchCommand, AForcedBackendRunsAloneAndAFullDiskIsAnError) {
  const Outcome outcome = run_program(small_bench({"--threads", "1", "--save", "/dev/full"}),
                                      {.environment = {"HEADWISE_BACKEND=reference"}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "headwise: cannot write /dev/full: No space left")) << outcome.err;
  // The rows are not lost with the file.
  EXPECT_TRUE(has(outcome.out, "reference")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "standard")) << outcome.out;
}

/// A cache folder with peers.json, gone at the end of the test.
class Peers {
 public:
  explicit Peers(const std::string& fault, const std::string& pid_file = {})
      : cache_(testing::TempDir() + "headwise_cli_cache") {
    const std::filesystem::path folder = cache_ / "headwise" / "peers";
    std::filesystem::create_directories(folder);
    json command{HEADWISE_PYTHON, HEADWISE_FAKE_PEER, fault};
    if (!pid_file.empty()) command.push_back(pid_file);
    const json peer{{"name", "fake-peer 1.0"}, {"command", command}};
    std::ofstream(folder / "peers.json") << json{{"peers", json::array({peer})}};
  }
  ~Peers() { std::filesystem::remove_all(cache_); }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  std::string variable() const { return "XDG_CACHE_HOME=" + cache_.string(); }

 private:
  std::filesystem::path cache_;
};

TEST(BenchCommand, PeersThatAreNotSetUpAreOneClearLine) {
  const Outcome outcome =
      run_program(small_bench({"--peers"}), {.environment = {"XDG_CACHE_HOME=/nonexistent"}});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "bench/peers/setup.sh")) << outcome.err;
}

TEST(BenchCommand, PeersHaveRowsOfTheirOwn) {
  const Peers peers("none");
  const Outcome outcome = run_program(small_bench({"--peers", "--json", "--threads", "1"}),
                                      {.environment = {peers.variable()}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  const json& row = document["rows"].back();
  EXPECT_EQ(row["peer"], true);
  EXPECT_EQ(row["backend"], "fake-peer 1.0");
  EXPECT_TRUE(row["ms"].is_number()) << row;
  EXPECT_EQ(document["rows"][0]["peer"], false);
}

TEST(BenchCommand, AWrongPeerIsAFailure) {
  const Peers peers("wrong");
  const Outcome outcome =
      run_program(small_bench({"--peers", "--threads", "1"}), {.environment = {peers.variable()}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "wrong:")) << outcome.out;
}

TEST(BenchCommand, CtrlCEndsAPeerThatHangs) {
  const std::string pid_file = testing::TempDir() + "headwise_cli_pid";
  const Peers peers("interrupt in prepare", pid_file);
  const Outcome outcome =
      run_program(small_bench({"--peers", "--threads", "1"}), {.environment = {peers.variable()}});
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  pid_t pid = 0;
  std::ifstream(pid_file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_NE(kill(pid, 0), 0);
  std::remove(pid_file.c_str());
}

TEST(BenchCommand, SignalsEndItWithTheRowsSoFar) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Outcome outcome =
        run_program({"bench", "decode", "--contexts", "32k", "--backend", "reference", "--json"},
                    {.signal_after = "attention: ", .signal = signal});
    EXPECT_EQ(outcome.status, 130) << outcome.err;
    EXPECT_TRUE(json::parse(outcome.out)["rows"].is_array());
    EXPECT_TRUE(has(outcome.err, "interrupted")) << outcome.err;
  }
}

}  // namespace
}  // namespace headwise::cli
