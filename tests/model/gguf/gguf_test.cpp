#include "model/gguf/gguf.h"

#include <gtest/gtest.h>

#include "tests/model/error_of.h"
#include "tests/model/gguf_writer.h"

namespace headwise {
namespace {

std::string floats(const std::vector<float>& values) {
  Bytes bytes;
  for (const float value : values) bytes.number(value);
  return bytes.text();
}

GgufFile open(const GgufWriter& writer) { return GgufFile(TemporaryFile(writer.text()).path()); }

TEST(Gguf, ReadsKeysOfEveryType) {
  GgufWriter writer;
  writer.key("u8", 0, Bytes().number<std::uint8_t>(200))
      .key("i8", 1, Bytes().number<std::int8_t>(-3))
      .key("u16", 2, Bytes().number<std::uint16_t>(60000))
      .key("i16", 3, Bytes().number<std::int16_t>(7))
      .u32("u32", 4000000000U)
      .key("i32", 5, Bytes().number<std::int32_t>(-5))
      .f32("f32", 0.5F)
      .key("boolean", 7, Bytes().number<std::uint8_t>(1))
      .string("string", "text")
      .key("u64", 10, Bytes().number<std::uint64_t>(1) /* no more than an i64 */)
      .key("i64", 11, Bytes().number<std::int64_t>(1LL << 40))
      .key("f64", 12, Bytes().number(0.1))
      .strings("strings", {"a", "", "bc"})
      .integers("integers", {1, -2})
      .booleans("booleans", {true, false});
  const GgufFile file = open(writer);
  const GgufMetadata& keys = file.metadata();
  EXPECT_EQ(keys.keys().size(), 15U);
  EXPECT_EQ(keys.unsigned_integer("u8"), 200U);
  EXPECT_EQ(keys.unsigned_integer("u16"), 60000U);
  EXPECT_EQ(keys.unsigned_integer("i16"), 7U);
  EXPECT_EQ(keys.unsigned_integer("u32"), 4000000000U);
  EXPECT_EQ(keys.unsigned_integer("u64"), 1U);
  EXPECT_EQ(keys.unsigned_integer("i64"), std::uint64_t{1} << 40);
  EXPECT_EQ(keys.number("f32"), 0.5);
  EXPECT_EQ(keys.number("f64"), 0.1);
  EXPECT_TRUE(keys.boolean("boolean"));
  EXPECT_EQ(keys.string("string"), "text");
  EXPECT_EQ(keys.strings("strings"), (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(keys.integers("integers"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(keys.booleans("booleans"), (std::vector<bool>{true, false}));
  EXPECT_TRUE(keys.is_array("booleans"));
  EXPECT_FALSE(keys.is_array("boolean"));
  EXPECT_EQ(error_of([&] { keys.unsigned_integer("i8"); }), "key 'i8' is negative: -3");
}

TEST(Gguf, GettersRefuseOtherTypes) {
  GgufWriter writer;
  writer.u32("number", 1)
      .string("string", "text")
      .strings("strings", {"a"})
      .key("flag", 7, Bytes().number<std::uint8_t>(2))
      .key("huge", 10, Bytes().number(~std::uint64_t{0}));
  const GgufFile file = open(writer);
  const GgufMetadata& keys = file.metadata();
  EXPECT_EQ(error_of([&] { keys.string("none"); }), "key 'none' is missing");
  EXPECT_EQ(error_of([&] { keys.string("number"); }), "key 'number' is not a string");
  EXPECT_EQ(error_of([&] { keys.strings("string"); }), "key 'string' is not an array");
  EXPECT_EQ(error_of([&] { keys.string("strings"); }), "key 'strings' is an array, not one value");
  EXPECT_EQ(error_of([&] { keys.integers("strings"); }), "key 'strings' does not hold integers");
  EXPECT_EQ(error_of([&] { keys.booleans("strings"); }), "key 'strings' does not hold booleans");
  EXPECT_EQ(error_of([&] { keys.number("number"); }),
            "key 'number' is not a floating-point number");
  EXPECT_EQ(error_of([&] { keys.unsigned_integer("string"); }), "key 'string' is not an integer");
  EXPECT_EQ(error_of([&] { keys.boolean("flag"); }),
            "key 'flag' is 2, neither false (0) nor true (1)");
  EXPECT_EQ(error_of([&] { keys.unsigned_integer("huge"); }),
            "key 'huge' is too large: 18446744073709551615");
}

TEST(Gguf, ReadsTensors) {
  for (const std::uint64_t alignment : {1U, 8U, 32U, 4096U}) {
    GgufWriter writer;
    writer.alignment = alignment;
    writer.u32("general.alignment", static_cast<std::uint32_t>(alignment))
        .tensor("a", {2, 3}, 0, floats({0, 1, 2, 3, 4, 5}))
        .tensor("b", {1}, 1, std::string("\0\x3c", 2));
    GgufFile opened = open(writer);
    const WeightTensor* before = &opened.tensor("a");
    const GgufFile file = std::move(opened);
    ASSERT_EQ(file.tensors().size(), 2U);
    const WeightTensor& a = file.tensor("a", {2, 3});
    EXPECT_EQ(&a, before);
    EXPECT_EQ(a.rows(), 3U);
    EXPECT_EQ(a.columns(), 2U);
    std::vector<float> all(6);
    a.dequantise_to_f32(all);
    EXPECT_EQ(all, (std::vector<float>{0, 1, 2, 3, 4, 5}));
    std::vector<float> row(2);
    a.dequantise_row(2, row);
    EXPECT_EQ(row, (std::vector<float>{4, 5}));
    std::vector<float> one(1);
    file.tensor("b").dequantise_to_f32(one);
    EXPECT_EQ(one[0], 1.0F);
  }
}

TEST(Gguf, RefusesTensorsThatAreNotThereOrOfAnotherSize) {
  const TemporaryFile bytes(GgufWriter().tensor("a", {2, 3}, 0, floats({0, 1, 2, 3, 4, 5})).text());
  const GgufFile file(bytes.path());
  const std::string path = bytes.path().string();
  EXPECT_EQ(error_of([&] { file.tensor("b"); }), path + ": tensor 'b' is missing");
  EXPECT_EQ(error_of([&] { file.tensor("a", {3, 2}); }), path + ": tensor 'a' is 2 x 3, not 3 x 2");
  std::vector<float> out(5);
  EXPECT_EQ(error_of([&] { file.tensor("a").dequantise_to_f32(out); }),
            "tensor 'a' has 6 weights, not 5");
  EXPECT_EQ(error_of([&] { file.tensor("a").dequantise_row(3, out); }),
            "tensor 'a' has 3 rows, none of number 3");
  EXPECT_EQ(error_of([&] { file.tensor("a").dequantise_row(0, out); }),
            "tensor 'a' has rows of 2 weights, not 5");
}

TEST(Gguf, BytesInMemoryAreReadInPlace) {
  const std::string bytes = GgufWriter().tensor("a", {1}, 0, floats({2})).text();
  const GgufFile file(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(file.path(), "memory");
  EXPECT_EQ(static_cast<const void*>(file.tensor("a").data.data()),
            bytes.data() + bytes.size() - 32);
  EXPECT_EQ(error_of([] { GgufFile({}, "memory"); }),
            "memory: is not a GGUF file: it does not begin with 'GGUF'");
}

TEST(Gguf, Version2AndAFileWithNothingInItAreRead) {
  GgufWriter writer;
  writer.version = 2;
  EXPECT_TRUE(open(writer).tensors().empty());
}

}  // namespace
}  // namespace headwise
