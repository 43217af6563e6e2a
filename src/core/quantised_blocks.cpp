#include "core/quantised_blocks.h"

#include <array>
#include <cstring>

#include "core/check.h"
#include "core/number_formats.h"

namespace headwise {
namespace {

struct FormatInfo {
  const char* name;
  std::size_t elements;
  std::size_t bytes;
};

constexpr std::array<FormatInfo, 4> kFormats{{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"Q4_1", 32, 20},
    {"Q8_0", 32, 34},
}};

const FormatInfo& info(BlockFormat format) { return kFormats.at(static_cast<std::size_t>(format)); }

float load_f16(const std::byte* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return f16_to_float(bits);
}

// Codes 0 to 15 are the low halves of the 16 bytes, codes 16 to 31 the high ones.
void dequantise_q4_1(const std::byte* block, float* out) {
  const float step = load_f16(block);
  const float minimum = load_f16(block + 2);
  for (int i = 0; i < 16; ++i) {
    const auto pair = std::to_integer<int>(block[4 + i]);
    out[i] = step * static_cast<float>(pair & 15) + minimum;
    out[i + 16] = step * static_cast<float>(pair >> 4) + minimum;
  }
}

void dequantise_q8_0(const std::byte* block, float* out) {
  const float step = load_f16(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = step * static_cast<float>(std::to_integer<std::int8_t>(block[2 + i]));
  }
}

}  // namespace

const char* name(BlockFormat format) { return info(format).name; }
std::size_t block_elements(BlockFormat format) { return info(format).elements; }
std::size_t block_bytes(BlockFormat format) { return info(format).bytes; }

void dequantise(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out) {
  const std::size_t elements = block_elements(format);
  const std::size_t bytes = block_bytes(format);
  const std::size_t count = out.size() / elements;
  check(out.size() % elements == 0, out.size(), " weights are not whole blocks of ", elements, " (",
        name(format), ")");
  check(blocks.size() % bytes == 0 && blocks.size() / bytes == count, out.size(), " weights of ",
        name(format), " do not lie in ", blocks.size(), " bytes");
  if (format == BlockFormat::f32) {
    if (count != 0) std::memcpy(out.data(), blocks.data(), blocks.size());
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* block = blocks.data() + i * bytes;
    float* target = out.data() + i * elements;
    switch (format) {
      case BlockFormat::f32:
        break;
      case BlockFormat::f16:
        *target = load_f16(block);
        break;
      case BlockFormat::q4_1:
        dequantise_q4_1(block, target);
        break;
      case BlockFormat::q8_0:
        dequantise_q8_0(block, target);
        break;
    }
  }
}

}  // namespace headwise
