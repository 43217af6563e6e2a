#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/codesign_document.h"
#include "tests/cli/folder_test.h"
#include "tests/cli/run_program.h"
#include "tests/engine/tiny_models.h"

namespace headwise::cli {
namespace {

class CodesignMeasured : public FolderTest {};

TEST_F(CodesignMeasured, IsPredictedByHere) {
  TinyModel tiny = gemma3_model();
  tiny.context = 512;
  const std::string model = write("tiny.gguf", gguf_of(tiny));
  const std::string own = folder() + "/own.json", hardware = folder() + "/here.json";
  const Outcome bench = run_program({"bench", "model", model, "--chunk", "64", "--save", own});
  ASSERT_EQ(bench.status, 0) << bench.err;
  EXPECT_NE(bench.out.find("layer_overhead"), std::string::npos);
  const Json measured = advice({model, "--hardware", "local", "--save-hardware", hardware,
                                "--calibration", own, "--contexts", "256"});
  EXPECT_NE(input(measured, "hardware")["why"].get<std::string>().find("measured now"),
            std::string::npos);
  const Json again = advice({model, "--hardware", hardware, "--calibration", own, "--chunk", "64",
                             "--contexts", "192,256,448"});
  double before = 0.0;
  for (const Json& row : again["contexts"]) {
    EXPECT_GT(row["prefill_ms"].get<double>(), before);
    before = row["prefill_ms"];
    EXPECT_NE(row["source"], "assumed") << row;
  }
  EXPECT_EQ(input(again, "weights")["source"], "config");
}

TEST_F(CodesignMeasured, IsPredictedByOfATypeOfKAndV) {
  TinyModel tiny = gemma3_model();
  tiny.context = 512;
  const std::string model = write("tiny.gguf", gguf_of(tiny));
  const std::string own = folder() + "/own.json", hardware = folder() + "/here.json";
  for (const char* type : {"f8", "i8"}) {
    const Outcome bench = run_program(
        {"bench", "model", model, "--chunk", "64", "--kv-type", type, "--save", own, "--json"});
    ASSERT_EQ(bench.status, 0) << bench.err;
    const Json calibration = Json::parse(bench.out)["calibration"];
    EXPECT_NE(calibration["origin"].get<std::string>().find(std::string("--kv-type ") + type),
              std::string::npos);
    std::string q_type;
    for (const Json& query : calibration["queries"])
      if (query["query"] == "attention_decode") q_type = query["tables"][0]["fixed"]["q_type"];
    const std::vector<std::string> question{model,  "--hardware", hardware, "--calibration",
                                            own,    "--contexts", "256",    "--q-type",
                                            q_type, "--kv-type"};
    std::vector<std::string> same = question, other = question;
    same.emplace_back(type);
    other.emplace_back("f32");
    if (!std::filesystem::exists(hardware)) {
      same[2] = "local";
      same.insert(same.end(), {"--save-hardware", hardware});
    }
    const auto asked = [](const Json& document) {
      std::set<std::string> files;
      for (const Json& each : document["provenance"])
        if (each["query"] == "attention_decode") files.insert(each["file"].get<std::string>());
      return files;
    };
    EXPECT_EQ(asked(advice(same)), std::set<std::string>{own}) << type;
    EXPECT_TRUE(asked(advice(other)).empty()) << type;
  }
  for (const char* type : {"f7", ""}) {
    const Outcome wrong = run_program({"bench", "model", model, "--kv-type", type});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find(type), std::string::npos) << wrong.err;
    EXPECT_EQ(std::ranges::count(wrong.err, '\n'), 1) << wrong.err;
  }
}

}  // namespace
}  // namespace headwise::cli
