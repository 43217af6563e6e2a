#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/advisor/engine_log/engine_logs.h"
#include "tests/cli/folder_test.h"
#include "tests/cli/run_program.h"

namespace headwise::cli {
namespace {

class CheckCommand : public FolderTest {};

const std::string kFa3 = logs::sglang("model_path='a/b', page_size=1, tp_size=8", "fa3");
const std::string kFa3Again =
    logs::sglang("model_path='a/b', page_size=1, tp_size=8, random_seed=1", "fa3");

TEST_F(CheckCommand, SaysWhatItFoundAndHowItJudges) {
  const Outcome outcome =
      run_program({"check", "--engine-log", write("log", kFa3), "--gpu", "H100", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["engine"], "SGLang");
  EXPECT_EQ(document["starts"], 1);
  EXPECT_EQ(document["facts"]["backend"]["value"], "fa3");
  EXPECT_EQ(document["facts"]["backend"]["line"], 2);
  EXPECT_EQ(document["not_found"], (nlohmann::json{"version", "kv_type", "head_dim", "kv_heads"}));
  EXPECT_EQ(document["findings"][0]["subject"], "kernel");
  EXPECT_EQ(document["findings"][0]["verdict"], "fits");
  EXPECT_EQ(document["findings"][0]["source"], "arXiv 2407.08608");
  EXPECT_EQ(document["verdict"], "fits");
}

TEST_F(CheckCommand, TheTableSaysTheSame) {
  const Outcome outcome = run_program({"check", "--engine-log", write("log", kFa3 + kFa3Again)});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("the last of 2 starts"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not found: version, gpu, kv_type"), std::string::npos);
  EXPECT_NE(outcome.out.find("verdict: cannot tell"), std::string::npos);
}

TEST_F(CheckCommand, AModelsHeadsAreTakenFromItsConfiguration) {
  write("config.json",
        R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 2,
            "vocab_size": 128256, "max_position_embeddings": 131072, "hidden_act": "silu"})");
  const Outcome outcome = run_program({"check", "--engine-log", write("log", kFa3), "--gpu", "H100",
                                       "--model", folder(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["verdict"], "worse than possible");
  EXPECT_EQ(document["findings"].back()["statement"], "2 KV heads over 8 GPUs");
}

TEST_F(CheckCommand, FailsOnlyIfAskedTo) {
  const std::string log = write("log", logs::sglang("tp_size=1", "triton"));
  EXPECT_EQ(run_program({"check", "--engine-log", log, "--gpu", "H100"}).status, 0);
  EXPECT_EQ(run_program({"check", "--engine-log", log, "--gpu", "H100", "--strict"}).status, 1);
  const std::string fits = write("fits", kFa3);
  EXPECT_EQ(run_program({"check", "--engine-log", fits, "--gpu", "H100", "--strict"}).status, 0);
  EXPECT_EQ(run_program({"check", "--engine-log", fits, "--strict"}).status, 0);
}

TEST_F(CheckCommand, ReadsStandardInput) {
  const Outcome outcome =
      run_program({"check", "--engine-log", "-", "--json"}, {.stdin_path = write("log", kFa3)});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["facts"]["model"]["value"], "a/b");
}

TEST_F(CheckCommand, BadLogsAreOneLine) {
  const std::string none = write("none", "nothing of an engine\n");
  const std::string wide = write("wide", std::string("\xff\xfeI\0N\0", 6));
  for (const std::string& log : {none, wide, folder(), folder() + "/missing"}) {
    const Outcome outcome = run_program({"check", "--engine-log", log});
    EXPECT_EQ(outcome.status, 1) << log;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(log), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(run_program({"check"}).status, 2);
  for (const char* option : {"--engine-log", "--gpu", "--model"}) {
    const Outcome outcome = run_program({"check", "--engine-log", none, option, ""});
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_NE(outcome.err.find(option), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(run_program({"check", "--engine-log", write("log", kFa3), "--gpu", "H9"}).status, 1);
}

}  // namespace
}  // namespace headwise::cli
