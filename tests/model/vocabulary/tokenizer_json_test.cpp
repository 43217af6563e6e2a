// tokenizer.json and its folder: what is read, and what is refused by the field's name.

#include "model/vocabulary/tokenizer_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/error_of.h"
#include "tests/model/test_lines.h"

namespace headwise {
namespace {

using nlohmann::json;

json fixture(const std::string& name) {
  return json::parse(read_text(HEADWISE_TEST_DATA "/tokenizers/" + name + ".json"));
}

/// The error for a file that `change` has spoilt.
template <class Change>
std::string refusal(const std::string& name, Change change) {
  json document = fixture(name);
  change(document);
  return error_of([&] { read_tokenizer_json(document.dump()); });
}

TEST(TokenizerJson, FixturesAreRead) {
  const Vocabulary qwen = read_tokenizer_json(fixture("qwen2").dump());
  EXPECT_TRUE(qwen.nfc);
  EXPECT_FALSE(qwen.add_bos);
  const Vocabulary llama3 = read_tokenizer_json(fixture("llama3").dump());
  EXPECT_TRUE(llama3.whole_pieces_first);
  EXPECT_TRUE(llama3.add_bos);
  const Tokenizer tokenizer(llama3);
  EXPECT_EQ(tokenizer.beginning(), std::vector{tokenizer.special("<|begin_of_text|>")});
  const Vocabulary llama2 = read_tokenizer_json(fixture("llama2").dump());
  EXPECT_EQ(llama2.kind, TokenizerKind::ranked);
  EXPECT_TRUE(llama2.prefix_space.added);
  EXPECT_FALSE(read_tokenizer_json(fixture("gemma").dump()).prefix_space.added);
}

TEST(TokenizerJson, MergesMayBePairs) {
  const std::string text = "the quick brown fox";
  json document = fixture("llama3");
  const auto wanted = Tokenizer(read_tokenizer_json(document.dump())).encode(text);
  for (json& merge : document["model"]["merges"]) {
    if (merge.is_array()) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  EXPECT_EQ(Tokenizer(read_tokenizer_json(document.dump())).encode(text), wanted);
  for (json& merge : document["model"]["merges"]) {
    const auto both = merge.get<std::string>();
    merge = {both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1)};
  }
  EXPECT_EQ(Tokenizer(read_tokenizer_json(document.dump())).encode(text), wanted);
}

TEST(TokenizerJson, MetaspaceAddsASpaceToTheFirstTextUnlessThereIsOne) {
  json document = fixture("llama2");
  document["normalizer"] = nullptr;
  document["pre_tokenizer"] = {{"type", "Metaspace"},
                               {"replacement", "\u2581"},
                               {"prepend_scheme", "first"},
                               {"split", false}};
  const Tokenizer tokenizer(read_tokenizer_json(document.dump()));
  EXPECT_EQ(tokenizer.encode("the"), tokenizer.encode(" the"));
  EXPECT_EQ(tokenizer.encode("the").size(), 1U);
  const auto behind = tokenizer.encode("<s>the", SpecialText::parsed);
  EXPECT_EQ(std::vector(behind.begin() + 1, behind.end()),
            tokenizer.encode("the", SpecialText::plain, false));
  EXPECT_NE(behind.back(), tokenizer.encode("the").back());
}

TEST(TokenizerJson, WhatIsNotSupportedIsRefusedByName) {
  const auto of = [](auto change) { return refusal("llama3", change); };
  EXPECT_EQ(of([](json& j) { j["model"]["type"] = "Unigram"; }),
            "field 'model.type': 'Unigram' is not supported: BPE is");
  EXPECT_EQ(of([](json& j) { j["model"]["dropout"] = 0.1; }),
            "field 'model.dropout' is not supported");
  EXPECT_EQ(of([](json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }),
            "field 'model.end_of_word_suffix' is not supported");
  EXPECT_EQ(of([](json& j) {
              j["normalizer"] = {{"type", "Lowercase"}};
            }),
            "field 'normalizer': 'Lowercase' is not supported");
  EXPECT_EQ(of([](json& j) { j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"; }),
            "field 'pre_tokenizer.pretokenizers[0].behavior': 'Removed' is not supported");
  EXPECT_EQ(
      of([](json& j) { j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+$"; }),
      "field 'pre_tokenizer.pretokenizers[0].pattern.Regex': '(a+)+$' is not supported");
  EXPECT_EQ(of([](json& j) { j["pre_tokenizer"] = nullptr; }),
            "field 'model.byte_fallback' is not true, and 'pre_tokenizer' is not ByteLevel: one of "
            "them must be");
  EXPECT_EQ(of([](json& j) {
              j["post_processor"] = {{"type", "BertProcessing"}};
            }),
            "field 'post_processor': 'BertProcessing' is not supported");
  EXPECT_EQ(of([](json& j) { j["added_tokens"][0]["lstrip"] = true; }),
            "field 'added_tokens[0].content': 'lstrip' is true, which is not supported");
}

TEST(HostileTokenizerJson, IsRefusedByTheField) {
  const auto of = [](auto change) { return refusal("llama3", change); };
  EXPECT_EQ(of([](json& j) { j.erase("model"); }), "field 'model' is missing");
  EXPECT_EQ(of([](json& j) { j["model"]["vocab"] = json::array(); }),
            "field 'model.vocab' holds no tokens");
  EXPECT_EQ(of([](json& j) { j["model"]["vocab"]["a"] = 2147483648U; }),
            "field 'model.vocab': the id of 'a' is no number below 1005");
  EXPECT_EQ(of([](json& j) { j["model"]["vocab"]["a"] = -1; }),
            "field 'model.vocab': the id of 'a' is no number below 1005");
  EXPECT_EQ(of([](json& j) { j["model"]["vocab"]["a"] = 7; }),
            "field 'model.vocab': the id 7 appears twice");
  const std::string renamed = of([](json& j) {
    json& vocab = j["model"]["vocab"];
    vocab["zzzz"] = vocab["a"];
    vocab.erase("a");
  });
  EXPECT_TRUE(renamed.starts_with("field 'model.merges': merge ") &&
              renamed.ends_with(", needs the token 'a', which is missing"))
      << renamed;
  EXPECT_EQ(of([](json& j) { j["added_tokens"][1]["id"] = 1000; }),
            "field 'added_tokens[1]': token 1000, '<|end_of_text|>', is spelled otherwise in "
            "model.vocab or appears twice");
  EXPECT_EQ(of([](json& j) { j["added_tokens"][1]["id"] = 1ULL << 40; }),
            "field 'added_tokens[1].id' is 1099511627776 of 1005 tokens");
  EXPECT_EQ(of([](json& j) { j["model"]["merges"] = {"a"}; }),
            "field 'model.merges': merge 0, 'a', is not two tokens");
  EXPECT_EQ(of([](json& j) {
              j["model"]["merges"] = json::array({json::array({"a", 1})});
            }),
            "field 'model.merges' holds what is neither \"a b\" nor [\"a\", \"b\"]");
  EXPECT_EQ(of([](json& j) { j["model"]["merges"] = {"a \xc4\x80\xc4\x80"}; }).substr(0, 29),
            "field 'model.merges': merge 0");
  EXPECT_EQ(refusal("llama2", [](json& j) { j["model"]["vocab"].erase("<0x41>"); }).substr(0, 19),
            "field 'model.vocab'");
}

TEST(HostileTokenizerJson, NoJsonAndDeepJsonAreRefused) {
  const auto of = [](const std::string& text) {
    return error_of([&] { read_tokenizer_json(text); });
  };
  EXPECT_EQ(of(""), "is not JSON at byte 1");
  EXPECT_EQ(of("{\"model\": \xff}").substr(0, 19), "is not JSON at byte");
  const std::string deep(10'000'000, '[');
  EXPECT_EQ(of(deep), "is nested deeper than 64");
  EXPECT_EQ(of("[]"), "the document is no object");
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "headwise-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder& write(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(TokenizerFolder, TheOtherFilesSayWhatEndsATextAndHowToChat) {
  Folder folder;
  folder.write("tokenizer.json", fixture("llama3").dump());
  folder.write("tokenizer_config.json",
               R"({"bos_token": {"content": "<|begin_of_text|>"}, "eos_token": "<|eot_id|>",
                   "chat_template": [{"name": "tools", "template": "t"},
                                     {"name": "default", "template": "d"}]})");
  const int end = static_cast<int>(fixture("llama3")["added_tokens"][1]["id"]);
  folder.write("generation_config.json", R"({"eos_token_id": [)" + std::to_string(end) + "]}");
  const Tokenizer tokenizer(read_vocabulary(folder.path()));
  EXPECT_TRUE(tokenizer.ends_generation(tokenizer.special("<|eot_id|>")));
  EXPECT_TRUE(tokenizer.ends_generation(end));
  EXPECT_FALSE(tokenizer.ends_generation(tokenizer.special("<|start_header_id|>")));
  EXPECT_EQ(tokenizer.chat_template(), "d");
  EXPECT_EQ(tokenizer.encode_prompt("a", SpecialText::plain).size(), 2U);
  folder.write("chat_template.jinja", "j");
  EXPECT_EQ(read_vocabulary(folder.path()).chat_template, "j");
}

TEST(TokenizerFolder, FilesThatDoNotFitAreNamed) {
  Folder folder;
  const auto error = [&] { return error_of([&] { read_vocabulary(folder.path()); }); };
  EXPECT_NE(error().find("tokenizer.json"), std::string::npos);
  folder.write("tokenizer.json", fixture("qwen2").dump());
  json no_end = fixture("llama2");
  folder.write("tokenizer_config.json", R"({"eos_token": "<none>"})");
  EXPECT_EQ(error(), (folder.path() / "tokenizer_config.json").string() +
                         ": field 'eos_token' is '<none>', which is none of the added tokens");
  folder.write("tokenizer_config.json", R"({"add_bos_token": true})");
  EXPECT_EQ(error(), (folder.path() / "tokenizer_config.json").string() +
                         ": field 'add_bos_token' is true, but 'bos_token' is missing");
  folder.write("tokenizer_config.json", "{}");
  folder.write("generation_config.json", R"({"eos_token_id": 1000000})");
  EXPECT_EQ(error(), (folder.path() / "generation_config.json").string() +
                         ": field 'eos_token_id' is 1000000 of 1006 tokens");
  folder.write("generation_config.json", "{}").write("tokenizer.json", no_end.dump());
  EXPECT_EQ(error(),
            (folder.path() / "tokenizer_config.json").string() +
                ": field 'eos_token' is missing, and no other file names a token that ends "
                "a text");
}

}  // namespace
}  // namespace headwise
