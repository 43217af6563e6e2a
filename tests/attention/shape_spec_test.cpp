#include "attention/shape_spec.h"

#include <gtest/gtest.h>

#include "headwise/error.h"

namespace headwise {
namespace {

TEST(ShapeSpec, ReadsEveryPart) {
  const ShapeSpec spec = parse_shape_spec("q64:kv8:d192:v128:w4096:cap50:sinks:page32:f8");
  EXPECT_EQ(spec.shape.q_heads, 64);
  EXPECT_EQ(spec.shape.kv_heads, 8);
  EXPECT_EQ(spec.shape.head_dim_qk, 192);
  EXPECT_EQ(spec.shape.head_dim_v, 128);
  EXPECT_EQ(spec.shape.window_left, 4095);
  EXPECT_EQ(spec.shape.window_right, 0);
  EXPECT_EQ(spec.shape.softcap, 50.0F);
  EXPECT_TRUE(spec.shape.sinks);
  EXPECT_EQ(spec.page_size, 32);
  EXPECT_EQ(spec.shape.q_type, DType::bf16);
  EXPECT_EQ(spec.shape.kv_type, DType::f8e4m3);
}

TEST(ShapeSpec, ValueDimensionDefaultsToTheKeys) {
  EXPECT_EQ(parse_shape_spec("q32:kv8:d128").shape.head_dim_v, 128);
  EXPECT_EQ(parse_shape_spec("q32:kv8:d128:full").shape.window_right, -1);
  EXPECT_EQ(parse_shape_spec("q32:kv8:d128:f8p").shape.q_type, DType::f8e4m3);
  EXPECT_TRUE(parse_shape_spec("q128:kv1:d576:v512:mla").shape.v_is_k_prefix);
}

TEST(ShapeSpec, PrintsWhatItReads) {
  for (const char* text :
       {"q32:kv8:d128", "q32:kv8:d128:f32", "q8:kv8:d64:v32:w128:cap50:sinks:page16",
        "q4:kv2:d64:full:f8", "q4:kv2:d64:i8", "q4:kv2:d64:f8p", "q128:kv1:d576:v512:mla",
        "q4:kv4:d80:f16"})
    EXPECT_EQ(to_string(parse_shape_spec(text)), text);
}

struct BadSpec {
  const char* text;
  ErrorCode code;
  const char* words;
};

TEST(ShapeSpec, SaysWhatIsWrong) {
  const BadSpec bad[] = {
      {"", ErrorCode::unknown_name, "''"},
      {"q32", ErrorCode::invalid_input, "lacks 'kv'"},
      {"q32:kv8", ErrorCode::invalid_input, "lacks 'd'"},
      {"q32:kv8:d128:", ErrorCode::unknown_name, "''"},
      {"q32:kv8:d128:banana", ErrorCode::unknown_name, "banana"},
      {"q32:kv8:d", ErrorCode::unknown_name, "'d'"},
      {"q32:kv8:d128x", ErrorCode::invalid_input, "d128x"},
      {"q32:kv8:d-1", ErrorCode::invalid_input, "d-1"},
      {"q32:kv8:d0", ErrorCode::invalid_input, "d0"},
      {"q32:kv8:d99999999999", ErrorCode::invalid_input, "d99999999999"},
      {"q32:q32:kv8:d128", ErrorCode::invalid_input, "twice"},
      {"q33:kv8:d128", ErrorCode::invalid_input, "q_heads 33"},
      {"q32:kv8:d128:v256:mla", ErrorCode::invalid_input, "head_dim_v 256"},
  };
  for (const BadSpec& spec : bad) {
    try {
      parse_shape_spec(spec.text);
      ADD_FAILURE() << spec.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), spec.code) << spec.text;
      EXPECT_NE(std::string(error.what()).find(spec.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace headwise
