#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/engine/tiny_llama.h"

namespace headwise::cli {
namespace {

/// A folder with a tiny model, a prompt and a file that is no model.
class RunCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headwise-run-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    write("tiny.gguf", gguf_of(random_llama(tiny_config(), 5)));
    write("prompt.txt", "abc");
    write("empty.txt", "");
    write("notes.txt", "not a model");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(RunCommand, AnswersInOneDocument) {
  const Outcome outcome = run_program({"run", path("tiny.gguf"), "--raw", "--prompt-file",
                                       path("prompt.txt"), "--max-new", "4", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  for (const char* field : {"tokens", "ttft_ms", "tpot_ms", "prefill_tok_s", "decode_tok_s",
                            "attention_share_prefill", "attention_share_decode", "kv_bytes",
                            "peak_bytes", "parallel_efficiency", "backends", "text", "turns"})
    EXPECT_TRUE(document.contains(field)) << field;
  EXPECT_TRUE(document["parallel_efficiency"].is_null());
  EXPECT_EQ(document["turns"].size(), 1U);
  EXPECT_NE(outcome.err.find("attention: layers 0-1"), std::string::npos) << outcome.err;
}

TEST_F(RunCommand, ForcedBackendsGiveTheSameText) {
  std::string text;
  for (const char* backend : {"reference", "standard", "cpu-portable"}) {
    const Outcome outcome =
        run_program({"run", path("tiny.gguf"), "--raw", "--prompt", "abcabc", "--max-new", "6",
                     "--backend", backend, "--check", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto document = nlohmann::json::parse(outcome.out);
    EXPECT_NE(document["backends"][0].get<std::string>().find(std::string("-> ") + backend),
              std::string::npos);
    if (text.empty()) text = document["text"];
    EXPECT_EQ(document["text"], text) << backend;
  }
}

TEST_F(RunCommand, MistakesAreOneLineEach) {
  const std::string model = path("tiny.gguf");
  struct Mistake {
    std::vector<std::string> arguments;
    int status;
    std::string words;
  };
  const Mistake mistakes[] = {
      {{}, 2, "MODEL"},
      {{path("none.gguf"), "--prompt", "a"}, 1, "none.gguf"},
      {{path("notes.txt"), "--prompt", "a"}, 1, "GGUF"},
      {{path(""), "--prompt", "a"}, 1, "directory"},
      {{model}, 2, "--prompt"},
      {{model, "--prompt", "a", "--prompt-file", path("prompt.txt")}, 2, "--prompt-file"},
      {{model, "--raw", "--prompt-file", path("none.txt")}, 1, "none.txt"},
      {{model, "--raw", "--prompt-file", path("empty.txt")}, 1, "empty"},
      {{model, "--raw", "--prompt", "a", "--max-new", "0"}, 2, "--max-new"},
      {{model, "--raw", "--prompt", "a", "--chunk", "x"}, 2, "--chunk"},
      {{model, "--raw", "--prompt", "a", "--backend", "nonsense"}, 2, "reference"},
      {{model, "--raw", "--prompt", std::string(100, 'a')}, 1, "40"},
      {{model, "--prompt", "a"}, 1, "--raw"},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), mistake.arguments.begin(), mistake.arguments.end());
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, mistake.status) << mistake.words << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << mistake.words;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(mistake.words), std::string::npos)
        << mistake.words << ": " << outcome.err;
  }
}

TEST_F(RunCommand, AFullDiskIsAFailure) {
  const Outcome outcome =
      run_program({"run", path("tiny.gguf"), "--raw", "--prompt", "abc", "--max-new", "4"},
                  {.stdout_path = "/dev/full"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
}

}  // namespace
}  // namespace headwise::cli
