#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/codesign_document.h"
#include "tests/cli/folder_test.h"
#include "tests/cli/run_program.h"
#include "tests/engine/tiny_models.h"

namespace headwise::cli {
namespace {

class CodesignCommand : public FolderTest {};

TEST_F(CodesignCommand, RefusesMeasurementsOfAnotherSystem) {
  const std::string own = write("own.json", R"({"source": "measured", "system": "toaster",
    "framework": "headwise", "version": "1", "date": "2026-12-01", "origin": "a test",
    "queries": [{"query": "gemm", "axes": [{"name": "m", "unit": "rows", "scale": "log"}],
                 "tables": [{"fixed": {}, "points": [[1, 2]]}]}]})");
  const Outcome outcome =
      run_program({"codesign", config("llama-3.1-8b"), "--hardware", "h200", "--calibration", own});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("own.json: is of toaster, the hardware is h200"), std::string::npos)
      << outcome.err;
  const Outcome idle = run_program(
      {"codesign", config("llama-3.1-8b"), "--hardware", "h200", "--save-hardware", "x.json"});
  EXPECT_EQ(idle.status, 2);
}

TEST_F(CodesignCommand, AnswersInOneDocument) {
  const Json document =
      advice({config("llama-3.1-8b"), "--hardware", "h200", "--contexts", "4k,32k"});
  for (const char* field :
       {"model", "hardware", "inputs", "contexts", "crossover", "roofline", "provenance"})
    EXPECT_TRUE(document.contains(field)) << field;
  ASSERT_EQ(document["contexts"].size(), 2U);
  const Json& row = document["contexts"][1];
  EXPECT_EQ(row["context"], 32768);
  EXPECT_EQ(row["kv_bytes"], std::int64_t{4} << 30);
  EXPECT_EQ(row["largest_batch"], 27);
  EXPECT_TRUE(row["append_ms"].is_null());
  EXPECT_GT(row["attention_share_prefill"], document["contexts"][0]["attention_share_prefill"]);
  EXPECT_EQ(document["model"]["parameters"], 8029995008);
  EXPECT_EQ(document["model"]["attention"][0]["group_size"], 4);
  EXPECT_NEAR(document["roofline"]["ridge"].get<double>(), 989.0 / 4.8, 1e-9);
}

// Every time has its source and its error, from a list that is closed.
TEST_F(CodesignCommand, EveryTimeSaysWhereItComesFrom) {
  const std::set<std::string> sources{"measured",
                                      "interpolated",
                                      "extrapolated",
                                      "third-party",
                                      "third-party, interpolated",
                                      "third-party, extrapolated",
                                      "assumed"};
  const Json document =
      advice({config("deepseek-r1"), "--hardware", "b200", "--weights", "nvfp4", "--projections",
              "bf16", "--gpus", "8", "--prefix", "3k", "--contexts", "4k,128k"});
  for (const Json& row : document["contexts"]) {
    double prefill = 0.0;
    for (const char* phase : {"parts_prefill", "parts_append", "parts_decode"})
      for (const Json& part : row[phase]) {
        EXPECT_TRUE(sources.contains(part["source"])) << part;
        EXPECT_GE(part["error"], 0.0);
        if (std::string(phase) == "parts_prefill") prefill += part["ms"].get<double>();
      }
    EXPECT_NEAR(prefill, row["prefill_ms"].get<double>(), 1e-6 * prefill);
    EXPECT_TRUE(sources.contains(row["source"])) << row["source"];
    EXPECT_LT(row["append_ms"], row["prefill_ms"]);
    EXPECT_EQ(row["ttft_ms"], row["append_ms"]);
  }
  for (const Json& point : document["roofline"]["points"])
    EXPECT_TRUE(sources.contains(point["source"])) << point;
  std::set<std::string> queries;
  for (const Json& each : document["provenance"])
    if (each["query"].is_string()) queries.insert(each["query"]);
  EXPECT_EQ(queries, (std::set<std::string>{"gemm", "mla_decode", "mla_prefill", "moe"}));
}

TEST_F(CodesignCommand, SaysWhatItDecidedItself) {
  const Json document = advice({config("deepseek-r1"), "--weights", "fp8_block"});
  const Json hardware = input(document, "hardware");
  EXPECT_EQ(hardware["source"], "default");
  EXPECT_FALSE(hardware["why"].get<std::string>().empty());
  EXPECT_EQ(input(document, "weights")["source"], "given");
  EXPECT_EQ(input(document, "projections")["source"], "default");
  EXPECT_EQ(input(document, "batch")["value"], input(document, "gpus")["value"]);
}

TEST_F(CodesignCommand, ReadsQuantisationFromTheFile) {
  std::ifstream file(config("deepseek-r1"));
  Json model = Json::parse(file);
  model["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  write("config.json", model.dump());
  const Json document = advice({folder(), "--hardware", "h200", "--contexts", "4k"});
  EXPECT_EQ(input(document, "weights")["value"], "fp8_block");
  EXPECT_EQ(input(document, "weights")["source"], "config");
  EXPECT_EQ(input(document, "gpus")["value"], "8");
}

TEST_F(CodesignCommand, ReadsGgufFiles) {
  const std::string path = write("tiny.gguf", gguf_of(gemma3_model()));
  const Json document = advice({path, "--hardware", "rtx_4090"});
  EXPECT_EQ(document["model"]["layers"], 7);
  EXPECT_EQ(document["model"]["attention"].size(), 2U);
  EXPECT_EQ(document["model"]["attention"][0]["span"], "window 5");
  ASSERT_EQ(document["contexts"].size(), 1U);
  EXPECT_EQ(document["contexts"][0]["context"], document["model"]["context"]);
  EXPECT_EQ(document["contexts"][0]["source"], "assumed");
}

TEST_F(CodesignCommand, WhatIsNotKnownIsNullWithAReason) {
  const Json document =
      advice({config("llama-3.1-8b"), "--hardware", "epyc_9005", "--contexts", "4k"});
  const Json& row = document["contexts"][0];
  EXPECT_TRUE(row["prefill_ms"].is_null());
  EXPECT_TRUE(row["largest_batch"].is_null());
  EXPECT_GT(row["decode_ms"], 0.0);
  EXPECT_NE(row["why_not"].get<std::string>().find("no rate of products"), std::string::npos);
  EXPECT_TRUE(document["crossover"]["prefill_context"].is_null());
  EXPECT_TRUE(document["crossover"]["why_not"].is_string());
}

TEST_F(CodesignCommand, JudgesGuidelines) {
  const Json document = advice({config("llama-3.1-8b"), "--hardware", "h200"});
  const Json& guidelines = document["guidelines"];
  ASSERT_EQ(guidelines.size(), 4U);
  const char* const names[] = {"group size", "head dimension", "effective KV state",
                               "parallel width"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(guidelines[i]["name"], names[i]);
    EXPECT_TRUE(guidelines[i]["reason"].is_string());
    EXPECT_TRUE(guidelines[i]["check"].is_string());
  }
  EXPECT_EQ(guidelines[0]["verdict"], "partly");
  const Json& gain = guidelines[0]["gains"][1];
  EXPECT_EQ(gain["change"], "group size 4 -> 8");
  EXPECT_EQ(gain["phase"], "decode");
  EXPECT_EQ(gain["context"], 131072);
  EXPECT_GT(gain["ratio_attention"], 1.3);
  EXPECT_LT(gain["ratio_attention"], 2.0);
  EXPECT_GT(gain["error"], 0.0);
  EXPECT_EQ(gain["source"], "third-party, extrapolated");
}

TEST_F(CodesignCommand, Sweeps) {
  const Json document =
      advice({config("llama-3.1-8b"), "--hardware", "h200", "--contexts", "4k,32k", "--sweep",
              "kv_heads=1,5,8", "--sweep", "window=512,full", "--sweep-context", "4k"});
  const Json& sweeps = document["sweeps"];
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0]["parameter"], "kv_heads");
  EXPECT_EQ(sweeps[0]["context"], 4096);
  ASSERT_EQ(sweeps[0]["rows"].size(), 3U);
  EXPECT_EQ(sweeps[0]["rows"][1]["why_not"], "q_heads 32 is no multiple of kv_heads 5");
  EXPECT_TRUE(sweeps[0]["rows"][1]["decode_ms"].is_null());
  const Json &own = sweeps[0]["rows"][2], &context = document["contexts"][0];
  EXPECT_EQ(own["is_model"], true);
  for (const char* field : {"prefill_ms", "decode_ms", "attention_share_decode", "kv_bytes",
                            "largest_batch", "throughput_tok_s", "source", "error"})
    EXPECT_EQ(own[field], context[field]) << field;
  EXPECT_EQ(sweeps[1]["rows"][1]["value"], "full");
  EXPECT_EQ(sweeps[1]["rows"][1]["decode_ms"], own["decode_ms"]);
}

TEST_F(CodesignCommand, WritesAPage) {
  const std::string page = folder() + "/report.html";
  const Outcome outcome = run_program({"codesign", config("llama-3.1-8b"), "--hardware", "h200",
                                       "--contexts", "4k", "--html", page});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("prefill ms"), std::string::npos);
  EXPECT_EQ(outcome.err, "the report is in " + page + "\n");
  std::ifstream file(page);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("llama-3.1-8b on NVIDIA H200 SXM"), std::string::npos);
  EXPECT_NE(text.find("effective KV state"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1);
}

// Where a page cannot be written nothing is left behind, and nothing is said on stdout.
TEST_F(CodesignCommand, APageThatCannotBeWrittenIsOneLine) {
  std::filesystem::create_directory(folder() + "/taken");
  for (const std::string& page :
       {folder() + "/none/report.html", folder() + "/taken", std::string("/proc/report.html")}) {
    const Outcome outcome = run_program({"codesign", config("llama-3.1-8b"), "--hardware", "h200",
                                         "--contexts", "4k", "--html", page});
    EXPECT_EQ(outcome.status, 1) << page;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("cannot write " + page), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1);
}

// A disk that is full: files may not grow beyond 64 KiB, and what stood there stays.
TEST_F(CodesignCommand, AFullDiskLeavesWhatStoodThere) {
  const std::string page = write("report.html", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{.rlim_cur = 1 << 16, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  const Outcome outcome = run_program({"codesign", config("llama-3.1-8b"), "--hardware", "h200",
                                       "--contexts", "4k", "--html", page});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "headwise: cannot write " + page + ": File too large\n");
  EXPECT_EQ(std::filesystem::file_size(page), 3U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1);
}

TEST_F(CodesignCommand, ReplacesWhatALinkLeadsTo) {
  const std::string page = write("report.html", "old"), link = folder() + "/link.html";
  std::filesystem::create_symlink(page, link);
  const std::vector<std::string> command{
      "codesign", config("llama-3.1-8b"), "--hardware", "h200", "--contexts", "4k", "--html", link};
  EXPECT_EQ(run_program(command).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(page), 3U);
}

TEST_F(CodesignCommand, SaysItForPeopleToo) {
  const Outcome outcome = run_program({"codesign", config("gpt-oss-120b"), "--hardware", "h200"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words :
       {"NVIDIA H200 SXM", "prefill ms", "128k", "third-party, extrapolated",
        "attention passes a half", "feed-forward", "guidelines", "head dimension", "partly: "})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << " in\n" << outcome.out;
}

TEST_F(CodesignCommand, MistakesAreOneLineEach) {
  const std::string llama = config("llama-3.1-8b");
  const std::string broken = write("broken.json", "{\"model_type\": [");
  const std::pair<std::vector<std::string>, int> mistakes[] = {
      {{}, 2},
      {{"none.json"}, 1},
      {{folder()}, 1},
      {{broken}, 1},
      {{llama, "--hardware", "h2000"}, 2},
      {{llama, "--hardware", "./none.json"}, 1},
      {{llama, "--contexts", "4k,,8k"}, 2},
      {{llama, "--contexts", "-4"}, 2},
      {{llama, "--contexts", "1"}, 2},
      {{llama, "--contexts", "99999999999"}, 2},
      {{llama, "--weights", "int3"}, 2},
      {{llama, "--projections", ""}, 2},
      {{llama, "--kv-type", "f9"}, 2},
      {{llama, "--q-type", "f9"}, 2},
      {{llama, "--gpus", "0"}, 2},
      {{config("deepseek-r1"), "--gpus", "67"}, 1},
      {{llama, "--plan", "tp3"}, 1},
      {{llama, "--plan", ""}, 2},
      {{llama, "--plan", "tp8tq8"}, 2},
      {{llama, "--plan", "tp8", "--gpus", "4"}, 2},
      {{llama, "--plan", "tp16kvp2"}, 1},
      {{llama, "--balance", "0"}, 2},
      {{llama, "--balance", "1.1"}, 2},
      {{llama, "--balance", "nan"}, 2},
      {{llama, "--shared-experts", "never"}, 2},
      {{llama, "--tpot", "0"}, 2},
      {{llama, "--tpot", "nan"}, 2},
      {{llama, "--workload", ""}, 2},
      {{llama, "--workload", "chats"}, 2},
      {{llama, "--workload", "./none.json"}, 1},
      {{llama, "--workload", broken}, 1},
      {{llama, "--turns", "3"}, 2},
      {{llama, "--workload", "chat", "--turns", "0"}, 2},
      {{llama, "--workload", "chat", "--concurrency", "-1"}, 2},
      {{llama, "--workload", "chat", "--input", "0"}, 2},
      {{llama, "--workload", "chat", "--output", "1k,2k"}, 2},
      {{llama, "--workload", "chat", "--reuse", "2"}, 2},
      {{llama, "--workload", "chat", "--ttft", "nan"}, 2},
      {{llama, "--gpus", "1e9"}, 2},
      {{llama, "--link", "-1"}, 2},
      {{llama, "--link", "nan"}, 2},
      {{llama, "--framework", "nonsense", "--hardware", "h200"}, 2},
      {{llama, "--batch", "0"}, 2},
      {{llama, "--batch", "-3"}, 2},
      {{llama, "--chunk", "0"}, 2},
      {{llama, "--routing", "uneven"}, 2},
      {{llama, "--page", "0"}, 2},
      {{llama, "--prefix", "many"}, 2},
      {{llama, "--prefix", "4k", "--contexts", "2k,4k"}, 2},
      {{""}, 2},
      {{llama, "--calibration", ""}, 2},
      {{llama, "--reserve", "1.5"}, 2},
      {{llama, "--sweep", ""}, 2},
      {{llama, "--sweep", "kv_heads"}, 2},
      {{llama, "--sweep", "kv_heads="}, 2},
      {{llama, "--sweep", "kv_heads=0"}, 2},
      {{llama, "--sweep", "kv_heads=8,8"}, 2},
      {{llama, "--sweep", "heads=8"}, 2},
      {{llama, "--sweep", "kv_heads=8", "window=4k"}, 2},
      {{llama, "--sweep", "kv_type=f9\nf8"}, 2},
      {{llama, "--sweep-context", "4k"}, 2},
      {{llama, "--sweep", "kv_heads=8", "--sweep-context", "1"}, 2},
      {{llama, "--html", ""}, 2},
      {{llama, "--nonsense"}, 2}};
  for (const auto& [arguments, status] : mistakes) {
    std::vector<std::string> all{"codesign"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run_program(all);
    EXPECT_EQ(outcome.status, status) << testing::PrintToString(arguments) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace headwise::cli
