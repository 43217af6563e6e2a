#include "core/quantised_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/number_formats.h"
#include "tests/model/error_of.h"
#include "tests/model/gguf_writer.h"

namespace headwise {
namespace {

std::vector<float> dequantised(BlockFormat format, const Bytes& blocks, std::size_t count) {
  std::vector<float> out(count, NAN);
  dequantise(format, std::as_bytes(std::span(blocks.text())), out);
  return out;
}

TEST(QuantisedBlocks, F32AndF16AreCopied) {
  EXPECT_EQ(dequantised(BlockFormat::f32, Bytes().number(1.5F).number(-2.0F), 2),
            (std::vector<float>{1.5F, -2.0F}));
  const Bytes halves = Bytes().number(float_to_f16(1.5F)).number(float_to_f16(-0.1F));
  EXPECT_EQ(dequantised(BlockFormat::f16, halves, 2),
            (std::vector<float>{1.5F, f16_to_float(float_to_f16(-0.1F))}));
}

TEST(QuantisedBlocks, Q4_1HoldsLowHalvesFirst) {
  Bytes blocks;
  for (const float step : {0.5F, 2.0F}) {
    blocks.number(float_to_f16(step)).number(float_to_f16(-3.0F));
    for (int i = 0; i < 16; ++i) blocks.number(static_cast<std::uint8_t>(i | ((15 - i) << 4)));
  }
  const auto out = dequantised(BlockFormat::q4_1, blocks, 64);
  for (int i = 0; i < 16; ++i) {
    const auto code = static_cast<float>(i);
    EXPECT_EQ(out[i], 0.5F * code - 3.0F);
    EXPECT_EQ(out[i + 16], 0.5F * (15.0F - code) - 3.0F);
    EXPECT_EQ(out[i + 32], 2.0F * code - 3.0F);
  }
}

TEST(QuantisedBlocks, Q8_0CodesAreSigned) {
  Bytes blocks;
  blocks.number(float_to_f16(0.25F));
  for (int i = 0; i < 32; ++i) blocks.number(static_cast<std::int8_t>(i * 8 - 128));
  const auto out = dequantised(BlockFormat::q8_0, blocks, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], 0.25F * static_cast<float>(i * 8 - 128));
}

// Blocks and weights of an independent implementation: block_vectors.py.
TEST(QuantisedBlocks, EveryFormatGivesTheSameBitsAsAnotherImplementation) {
  std::ifstream file(HEADWISE_CORE_TEST_DATA "/blocks.bin", std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  std::span<const std::byte> rest = std::as_bytes(std::span(golden));
  for (int i = 0; i <= static_cast<int>(BlockFormat::q6_k); ++i) {
    const auto format = static_cast<BlockFormat>(i);
    const std::size_t bytes = 4 * block_bytes(format);
    std::vector<float> expected(4 * block_elements(format));
    const std::size_t expected_bytes = expected.size() * sizeof(float);
    ASSERT_GE(rest.size(), bytes + expected_bytes) << name(format);
    std::memcpy(expected.data(), rest.data() + bytes, expected_bytes);
    std::vector<float> out(expected.size());
    dequantise(format, rest.first(bytes), out);
    for (std::size_t k = 0; k < out.size(); ++k) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[k]), std::bit_cast<std::uint32_t>(expected[k]))
          << name(format) << " weight " << k << ": " << out[k] << ", not " << expected[k];
    }
    rest = rest.subspan(bytes + expected_bytes);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(QuantisedBlocks, WrongSizesAreRefusedAndNothingIsWritten) {
  const std::vector<std::byte> blocks(40);
  std::vector<float> out(64, 7.0F);
  const auto refused = [&](BlockFormat format, std::size_t bytes, std::size_t count) {
    return error_of(
        [&] { dequantise(format, std::span(blocks).first(bytes), std::span(out).first(count)); });
  };
  EXPECT_EQ(refused(BlockFormat::q4_1, 20, 31), "31 weights are not whole blocks of 32 (Q4_1)");
  EXPECT_EQ(refused(BlockFormat::q4_1, 20, 64), "64 weights of Q4_1 do not lie in 20 bytes");
  EXPECT_EQ(refused(BlockFormat::q8_0, 40, 32), "32 weights of Q8_0 do not lie in 40 bytes");
  EXPECT_EQ(refused(BlockFormat::f32, 7, 2), "2 weights of F32 do not lie in 7 bytes");
  EXPECT_EQ(out, std::vector<float>(64, 7.0F));
}

}  // namespace
}  // namespace headwise
