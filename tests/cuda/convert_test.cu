#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/number_formats.h"
#include "cuda/ptx/convert.cuh"
#include "cuda/runtime/check.h"
#include "cuda/runtime/memory.h"

namespace headwise::cuda {
namespace {

using ptx::F16Pairs;

struct ByInstruction {
  __device__ static F16Pairs convert(std::uint32_t codes) { return ptx::e4m3_to_f16(codes); }
};
struct ByBits {
  __device__ static F16Pairs convert(std::uint32_t codes) {
    return ptx::e4m3_to_f16_by_bits(codes);
  }
};
struct Integers {
  __device__ static F16Pairs convert(std::uint32_t bytes) { return ptx::i8_to_f16(bytes); }
};

/// Four bytes a thread.
template <class How>
__global__ void convert_all(const std::uint32_t* bytes, F16Pairs* pairs) {
  pairs[threadIdx.x] = How::convert(bytes[threadIdx.x]);
}

/// All 256 bytes, as F32.
template <class How>
std::vector<float> converted() {
  std::vector<std::uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
  const DeviceBuffer from(0, 256);
  const DeviceBuffer to(0, 512);
  copy_to_device(from.data(), bytes.data(), 256);
  convert_all<How><<<1, 64>>>(from.as<std::uint32_t>(), to.as<F16Pairs>());
  check_launch("convert_all");
  std::vector<std::uint16_t> halves(256);
  copy_to_host(halves.data(), to.data(), 512);
  std::vector<float> values;
  for (const std::uint16_t half : halves) values.push_back(f16_to_float(half));
  return values;
}

template <class How>
void expect_e4m3() {
  const std::vector<float> got = converted<How>();
  for (int code = 0; code < 256; ++code) {
    const float exact = e4m3_to_float(static_cast<std::uint8_t>(code));
    const float value = got[static_cast<std::size_t>(code)];
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(value)) << code;
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(exact)) << code;
  }
}

struct NarrowByInstruction {
  __device__ static std::uint32_t convert(float4 x) {
    return ptx::four_f32_to_e4m3(x.x, x.y, x.z, x.w);
  }
};
struct NarrowByBits {
  __device__ static std::uint32_t convert(float4 x) {
    return ptx::four_f32_to_e4m3_by_bits(x.x, x.y, x.z, x.w);
  }
};

template <class How>
__global__ void narrow_all(const float4* values, std::uint32_t* codes) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  codes[i] = How::convert(values[i]);
}

/// All signs, exponents and upper seven bits of the mantissa, with lower bits about the middle and
/// the ends: all numbers, all ties, and what lies beside them.
template <class How>
void expect_narrowed() {
  const std::uint32_t low_bits[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1234, 0xfedc};
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 1U << 16; ++high)
    for (const std::uint32_t low : low_bits)
      values.push_back(std::bit_cast<float>(high << 16 | low));
  const auto count = static_cast<std::int64_t>(values.size());
  const DeviceBuffer from(0, 4 * count);
  const DeviceBuffer to(0, count);
  copy_to_device(from.data(), values.data(), 4 * count);
  narrow_all<How><<<static_cast<unsigned>(count / 1024), 256>>>(from.as<const float4>(),
                                                                to.as<std::uint32_t>());
  check_launch("narrow_all");
  std::vector<std::uint8_t> codes(values.size());
  copy_to_host(codes.data(), to.data(), count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      ASSERT_EQ(codes[i] & 0x7f, 0x7f) << std::bit_cast<std::uint32_t>(values[i]);
    else
      ASSERT_EQ(codes[i], float_to_e4m3(values[i])) << values[i];
  }
}

TEST(Convert, F32ToE4m3ByTheInstruction) { expect_narrowed<NarrowByInstruction>(); }
TEST(Convert, F32ToE4m3ByBits) { expect_narrowed<NarrowByBits>(); }
TEST(Convert, E4m3ByTheInstruction) { expect_e4m3<ByInstruction>(); }
TEST(Convert, E4m3ByBits) { expect_e4m3<ByBits>(); }

TEST(Convert, Integers) {
  const std::vector<float> got = converted<Integers>();
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(got[static_cast<std::size_t>(byte)],
              static_cast<float>(static_cast<std::int8_t>(static_cast<std::uint8_t>(byte))));
}

}  // namespace
}  // namespace headwise::cuda
