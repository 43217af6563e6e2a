#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/engine/tiny_models.h"
#include "tests/model/model_file.h"

namespace headwise::cli {
namespace {

/// A folder with a tiny model, a prompt and a file that is no model.
class RunCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headwise-run-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    TinyModel model = llama_model();
    model.context = 40;
    write("tiny.gguf", gguf_of(model, 5));
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

TEST_F(RunCommand, TurnsShareOneCache) {
  write("turns.json", R"({"document": "prompt.txt", "turns": ["def", "deg"]})");
  write("talk.json", R"({"turns": ["ab", "cd", "ef"]})");
  for (const auto& [file, turns] : {std::pair("turns.json", 2U), std::pair("talk.json", 3U)}) {
    const Outcome outcome = run_program({"run", path("tiny.gguf"), "--raw", "--turns", path(file),
                                         "--max-new", "3", "--kv-type", "bf16", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto document = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(document["turns"].size(), turns);
    for (const auto& turn : document["turns"])
      for (const char* field : {"ttft_ms", "tpot_ms", "reused_tokens", "text", "finish"})
        EXPECT_TRUE(turn.contains(field)) << field;
    EXPECT_EQ(document["text"], document["turns"][0]["text"]);
  }
  const Outcome text = run_program(
      {"run", path("tiny.gguf"), "--raw", "--turns", path("talk.json"), "--max-new", "3"});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char* line : {"> ab\n", "> cd\n", "> ef\n", "tokens reused; first token after"})
    EXPECT_NE(text.out.find(line), std::string::npos) << line << text.out;
}

TEST_F(RunCommand, BadTurnsAreOneLineEach) {
  const std::pair<const char*, const char*> files[] = {
      {"{", "turns.json"},
      {"[]", "turns"},
      {R"({"turns": []})", "turns"},
      {R"({"turns": "abc"})", "turns"},
      {R"({"turns": ["abc", 5]})", "turn 2"},
      {R"({"turns": [""]})", "turn 1"},
      {R"({"turns": ["abc"], "documents": "prompt.txt"})", "documents"},
      {R"({"turns": ["abc"], "document": 5})", "document"},
      {R"({"turns": ["abc"], "document": "none.txt"})", "none.txt"},
      {R"({"turns": ["abc"], "document": "empty.txt"})", "empty.txt"},
  };
  for (const auto& [text, words] : files) {
    write("turns.json", text);
    const Outcome outcome =
        run_program({"run", path("tiny.gguf"), "--raw", "--turns", path("turns.json")});
    EXPECT_EQ(outcome.status, 1) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << text << ": " << outcome.err;
  }
}

TEST_F(RunCommand, KvTypesAreThoseOfTheCache) {
  for (const char* type : {"f32", "f16", "bf16", "f8", "f8e4m3", "i8"}) {
    const Outcome outcome = run_program({"run", path("tiny.gguf"), "--raw", "--prompt", "abcabc",
                                         "--max-new", "4", "--kv-type", type, "--check", "--json"});
    ASSERT_EQ(outcome.status, 0) << type << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out).contains("kv_saturated"),
              type[1] == '8' && type[0] == 'f')
        << type;
  }
  const Outcome wrong =
      run_program({"run", path("tiny.gguf"), "--raw", "--prompt", "abc", "--kv-type", "q4"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("f8e4m3"), std::string::npos) << wrong.err;
}

TEST_F(RunCommand, ChatNeedsATemplate) {
  write("lines.txt", "abc\n");
  const Outcome outcome =
      run_program({"chat", path("tiny.gguf")}, {.stdin_path = path("lines.txt")});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("chat template"), std::string::npos) << outcome.err;
  EXPECT_EQ(run_program({"chat", path("tiny.gguf")}).status, 1);  // before anything is said
  EXPECT_EQ(run_program({"chat", path("none.gguf")}).status, 1);
}

TEST_F(RunCommand, ChatKeepsItsCache) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  write("lines.txt", "What is the capital of France?\nAnd of Italy?\n");
  const Outcome outcome = run_program({"chat", path.string(), "--max-new", "16"},
                                      {.stdin_path = this->path("lines.txt")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Paris"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Rome"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("[0 of "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("[0 of ", outcome.err.find("[0 of ") + 1), std::string::npos)
      << outcome.err;
}

TEST_F(RunCommand, AFullDiskIsAFailure) {
  const Outcome outcome =
      run_program({"run", path("tiny.gguf"), "--raw", "--prompt", "abc", "--max-new", "4"},
                  {.stdout_path = "/dev/full"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
}

}  // namespace
}  // namespace headwise::cli
