#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headwise/version.h"
#include "tests/cli/run_program.h"

namespace headwise::cli {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What an error looks like: its status, one line on stderr that holds `parts`, nothing on stdout.
void expect_error(const Outcome& outcome, int status, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.substr(0, 10), "headwise: ") << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const std::string& part : parts)
    EXPECT_TRUE(has(outcome.err, part)) << part << "\n" << outcome.err;
}

TEST(Program, SaysItsVersion) {
  const Outcome outcome = run_program({"--version"});
  EXPECT_EQ(outcome.status, 0);
  for (const std::string& part :
       {std::string(version()), std::string(revision()), std::string("instruction sets: "),
        std::string("CUDA architectures: "), std::string("GPUs: ")})
    EXPECT_TRUE(has(outcome.out, part)) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(Program, HelpHasExamples) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{}, {"backends"}, {"bench"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_TRUE(has(outcome.out, "Examples:\n  headwise ")) << outcome.out;
  }
}

TEST(Program, WrongUsageEndsWithTwo) {
  expect_error(run_program({}), 2, {"backends", "bench"});
  expect_error(run_program({"bnech"}), 2, {"bnech", "backends", "bench"});
  expect_error(run_program({"backends", "--jsno"}), 2, {"--jsno"});
  expect_error(run_program({"backends", "--shape", "q32:kv8:x128"}), 2, {"x128"});
  expect_error(run_program({"backends", "--shape", "q32:kv5:d128"}), 2, {"32", "5"});
}

TEST(Program, UnknownBackendsAreNamedWithTheKnown) {
  const ProgramOptions forced{.environment = {"HEADWISE_BACKEND=nonsense"}};
  expect_error(run_program({"bench", "decode"}, forced), 2, {"nonsense", "reference", "standard"});
  expect_error(run_program({"backends"}, forced), 2, {"nonsense", "reference", "standard"});
  expect_error(run_program({"bench", "decode", "--backend", "nonsense"}), 2,
               {"nonsense", "reference", "standard"});
}

TEST(Program, WarnsOfVariablesThatNothingReads) {
  const Outcome outcome =
      run_program({"--version"}, {.environment = {"HEADWISE_BAKEND=reference"}});
  EXPECT_EQ(outcome.status, 0);
  for (const char* name : {"warning", "HEADWISE_BAKEND", "HEADWISE_BACKEND", "HEADWISE_MODEL_DIR",
                           "HEADWISE_CASES", "HEADWISE_SEED"})
    EXPECT_TRUE(has(outcome.err, name)) << outcome.err;
  EXPECT_EQ(run_program({"--version"}, {.environment = {"HEADWISE_SEED=1"}}).err, "");
}

TEST(Program, OutputThatIsLostIsAnError) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--version"}, {"bench", "--help"}, {"backends"}, {"backends", "--json"}}) {
    expect_error(run_program(arguments, {.stdout_path = "/dev/full"}), 1, {"standard output"});
    expect_error(run_program(arguments, {.close_stdout = true}), 1, {"standard output"});
  }
}

TEST(Backends, PrintsOneJsonDocument) {
  const Outcome outcome = run_program({"backends", "--json", "--shape", "q16:kv4:d64:i8:page32"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["shape"], "q16:kv4:d64:i8:page32");
  EXPECT_GE(document["machine"]["threads"], 1);
  EXPECT_EQ(document["gpus"].empty(), document["no_gpu"].is_string());
  EXPECT_TRUE(document["cuda_architectures"].is_string());
  bool reference = false;
  for (const json& backend : document["backends"]) {
    EXPECT_FALSE(backend["page_sizes"].empty());
    for (const char* phase : {"prefill", "append", "decode", "mixed"}) {
      const json& answer = backend["phases"][phase];
      EXPECT_EQ(answer["why_not"].is_null(), answer["possible"]) << backend;
      EXPECT_EQ(answer["row"].is_string(), answer["possible"]) << backend;
    }
    reference = reference ||
                (backend["name"] == "reference" && backend["phases"]["decode"]["possible"] == true);
  }
  EXPECT_TRUE(reference);
  EXPECT_TRUE(document["chosen"]["decode"]["backend"].is_string());
}

TEST(Backends, SaysWhatIsForced) {
  const Outcome outcome =
      run_program({"backends", "--json"}, {.environment = {"HEADWISE_BACKEND=reference"}});
  EXPECT_EQ(json::parse(outcome.out)["chosen"]["prefill"]["backend"], "reference");
}

TEST(Backends, PrintsTextForPeople) {
  const Outcome outcome = run_program({"backends"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* part :
       {"machine: ", "CUDA architectures: ", "reference", "standard", "would run:"})
    EXPECT_TRUE(has(outcome.out, part)) << outcome.out;
}

}  // namespace
}  // namespace headwise::cli
