#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/run_program.h"

namespace headwise::cli {
namespace {

using Json = nlohmann::json;

std::string config(const std::string& name) {
  return std::string(HEADWISE_CONFIGS) + "/" + name + ".json";
}

Outcome run_codesign(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "codesign");
  Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome;
}

Json advice(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = run_codesign(std::move(arguments));
  return outcome.status == 0 ? Json::parse(outcome.out) : Json();
}

/// No line is wider than a terminal of 100 columns, from the line that begins with `from` on.
void expect_narrow(const std::string& text, const std::string& from) {
  const std::size_t start = text.find("\n" + from);
  ASSERT_NE(start, std::string::npos) << text;
  std::istringstream lines(text.substr(start));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(CodesignPlans, AreCompared) {
  const Json document = advice({config("deepseek-r1"), "--hardware", "h200", "--gpus", "8",
                                "--weights", "fp8_block", "--contexts", "4k,32k"});
  std::set<std::string> best, names;
  for (const Json& plan : document["plans"]) {
    EXPECT_TRUE(names.insert(plan["name"]).second) << plan["name"];
    for (const char* field : {"tp",
                              "adp",
                              "kvp",
                              "tp_ff",
                              "ep",
                              "pp",
                              "gpus",
                              "fits",
                              "why_not",
                              "weights_bytes_per_gpu",
                              "kv_bytes_per_gpu",
                              "largest_batch",
                              "ttft_ms",
                              "tpot_ms",
                              "throughput_tok_s",
                              "communication_ms",
                              "efficiency",
                              "best_for",
                              "loses_because",
                              "flags",
                              "source",
                              "error"})
      EXPECT_TRUE(plan.contains(field)) << field;
    EXPECT_EQ(plan["gpus"], 8);
    for (const Json& each : plan["best_for"]) best.insert(each);
    if (plan["fits"] == true)
      EXPECT_NE(plan["best_for"].empty(), plan["loses_because"].is_null()) << plan;
    else
      EXPECT_TRUE(plan["why_not"].is_string()) << plan;
  }
  EXPECT_EQ(best, (std::set<std::string>{"latency", "throughput"}));
  for (const char* name : {"TP8", "TP8/EP8", "ADP8/EP8", "KVP8/EP8", "PP8", "ADP2/KVP4/EP8"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// One GPU, and one plan that is given: the figures are those of the longest context.
TEST(CodesignPlans, OneIsWhatTheContextsSay) {
  for (const char* plan : {"tp1", "tp2"}) {
    const Json document = advice(
        {config("llama-3.1-8b"), "--hardware", "h200", "--plan", plan, "--contexts", "4k,32k"});
    ASSERT_EQ(document["plans"].size(), 1U);
    const Json& own = document["plans"][0];
    const Json& row = document["contexts"][1];
    for (const char* field :
         {"ttft_ms", "tpot_ms", "throughput_tok_s", "largest_batch", "source", "error"})
      EXPECT_EQ(own[field], row[field]) << plan << " " << field;
  }
}

TEST(CodesignPlans, AGivenPlanIsEvaluatedEverywhere) {
  const std::vector<std::string> question{
      config("deepseek-r1"), "--hardware", "h200",    "--weights", "fp8_block",
      "--contexts",          "4k",         "--batch", "8"};
  const auto of = [&](const char* plan) {
    std::vector<std::string> arguments = question;
    arguments.insert(arguments.end(), {"--plan", plan});
    return advice(arguments);
  };
  const Json tp = of("tp8ep8"), adp = of("ADP8/EP8");
  EXPECT_EQ(tp["plans"][0]["name"], "TP8/EP8");
  EXPECT_LT(tp["contexts"][0]["prefill_ms"], adp["contexts"][0]["prefill_ms"]);
  EXPECT_LT(tp["contexts"][0]["largest_batch"], adp["contexts"][0]["largest_batch"]);
  for (const Json& input : tp["inputs"])
    if (input["name"] == "plan") {
      EXPECT_EQ(input["value"], "TP8/EP8");
      EXPECT_EQ(input["source"], "given");
    }
}

TEST(CodesignPlans, AnyNumberOfGpusHasAnAnswer) {
  for (const char* gpus : {"1", "3", "6", "7", "64", "72"}) {
    const Json document = advice({config("llama-3.1-8b"), "--hardware", "b200", "--gpus", gpus,
                                  "--contexts", "32k", "--link", "100"});
    bool any = false;
    for (const Json& plan : document["plans"]) any = any || plan["fits"] == true;
    EXPECT_TRUE(any) << gpus;
  }
}

TEST(CodesignPlans, AreNarrowTablesForPeople) {
  for (const char* gpus : {"8", "64"}) {
    const Outcome outcome =
        run_codesign({config("deepseek-r1"), "--hardware", "gb200", "--gpus", gpus, "--weights",
                      "nvfp4", "--workload", "coding-agent"});
    expect_narrow(outcome.out, "plans of ");
    for (const char* words : {"best for latency", "TensorRT-LLM: ", "efficiency", "last turn"})
      EXPECT_NE(outcome.out.find(words), std::string::npos) << words;
  }
}

TEST(CodesignWorkloads, AreJudged) {
  const Json document =
      advice({config("llama-3.1-8b"), "--hardware", "h200", "--workload", "chat", "--turns", "4",
              "--concurrency", "16", "--ttft", "5000", "--tpot", "1"});
  const Json& workload = document["workload"];
  EXPECT_EQ(workload["name"], "chat");
  EXPECT_EQ(workload["context"], 1024 + 4 * (256 + 512));
  EXPECT_EQ(workload["concurrency"], 16);
  EXPECT_EQ(workload["meets_ttft"], true);
  EXPECT_EQ(workload["meets_tpot"], false);
  EXPECT_LT(workload["kv_bytes"], workload["kv_bytes_without_sharing"]);
  EXPECT_LT(workload["ttft_ms"], workload["ttft_without_reuse_ms"]);
  EXPECT_GT(workload["throughput_tok_s"], 0.0);
  EXPECT_TRUE(workload["limit"].is_string());
  EXPECT_TRUE(advice({config("llama-3.1-8b"), "--hardware", "h200"})["workload"].is_null());
}

}  // namespace
}  // namespace headwise::cli
