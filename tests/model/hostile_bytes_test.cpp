// That bytes which are wrong somewhere are read within their bounds, or refused.

#include <gtest/gtest.h>

#include "model/gguf/gguf.h"
#include "model/gguf/gguf_config.h"
#include "model/hugging_face/hf_config.h"
#include "model/hugging_face/safetensors.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/error_of.h"
#include "tests/model/hf_writer.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

GgufFile gguf(const std::string& bytes) {
  return GgufFile(std::as_bytes(std::span(bytes)), "file");
}

GgufWriter whole_model() {
  GgufWriter writer = tiny_llama();
  TinyVocabulary().write_keys(writer);
  return writer;
}

/// Each proper beginning of `bytes`.
void expect_truncations_refused(const std::string& bytes,
                                const std::function<void(const std::string&)>& read) {
  ASSERT_EQ(error_of([&] { read(bytes); }), "");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of([&] { read(bytes.substr(0, size)); }), "") << size << " bytes";
  }
}

TEST(HostileBytes, EveryTruncationIsRefused) {
  expect_truncations_refused(tiny_llama().text(), [](const std::string& bytes) { gguf(bytes); });
  expect_truncations_refused(tiny_hf_weights().text(), [](const std::string& bytes) {
    SafetensorsFile(std::as_bytes(std::span(bytes)), "file");
  });
  expect_truncations_refused(tiny_hf_config().dump(),
                             [](const std::string& bytes) { read_hf_config(bytes); });
  expect_truncations_refused(R"({"weight_map": {"a": "b.safetensors"}})",
                             [](const std::string& bytes) { read_safetensors_index(bytes); });
}

// What a flipped byte means is open; that it is read within the file or refused is not.
TEST(HostileBytes, EveryFlippedByteOfGgufIsReadOrRefused) {
  const std::string good = whole_model().text();
  ASSERT_EQ(error_of([&] { Tokenizer{read_vocabulary(gguf(good))}; }), "");
  for (std::size_t i = 0; i < good.size(); i += i < 1024 ? 1 : 7) {  // the vocabulary is alike
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (i % 2 == 0 ? 0x80 : 0xff));
    error_of([&] {
      const GgufFile model = gguf(bytes);
      std::vector<float> row(model.tensors().front().columns());
      model.tensors().front().dequantise_row(0, row);
      read_gguf_config(model);
      if (i % 16 == 0) Tokenizer(read_vocabulary(model)).encode("hello \xff");
    });
  }
}

TEST(HostileBytes, EveryFlippedByteOfSafetensorsIsReadOrRefused) {
  const std::string good = tiny_hf_weights().text();
  for (std::size_t i = 0; i < 2048; ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      error_of([&] {
        const SafetensorsFile file(std::as_bytes(std::span(bytes)), "file");
        for (const WeightTensor& tensor : file.table().tensors()) {
          std::vector<float> row(tensor.columns());
          tensor.dequantise_row(tensor.rows() - 1, row);
        }
      });
    }
  }
}

}  // namespace
}  // namespace headwise
