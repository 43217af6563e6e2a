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
