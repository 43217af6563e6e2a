#include "core/quantised_blocks.h"

#include <array>
#include <cstring>

#include "core/check.h"
#include "core/number_formats.h"

namespace headwise {
namespace {

int byte_at(const std::byte* bytes, int i) { return std::to_integer<int>(bytes[i]); }

int signed_byte_at(const std::byte* bytes, int i) { return std::to_integer<std::int8_t>(bytes[i]); }

std::uint16_t load_16_bits(const std::byte* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

float load_f16(const std::byte* bytes) { return f16_to_float(load_16_bits(bytes)); }

void dequantise_f32(const std::byte* block, float* out) { std::memcpy(out, block, sizeof *out); }
void dequantise_f16(const std::byte* block, float* out) { *out = load_f16(block); }
void dequantise_bf16(const std::byte* block, float* out) {
  *out = bf16_to_float(load_16_bits(block));
}

/// Codes 0 to 15 are the low halves of 16 bytes, codes 16 to 31 the high ones.
int code_of_32(const std::byte* halves, int i) {
  return i < 16 ? byte_at(halves, i) & 15 : byte_at(halves, i - 16) >> 4;
}

/// Bit i of 4 bytes, as the fifth of a code.
int fifth_bit(const std::byte* bits, int i) { return ((byte_at(bits, i / 8) >> (i % 8)) & 1) << 4; }

void dequantise_q4_0(const std::byte* block, float* out) {
  const float step = load_f16(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = step * static_cast<float>(code_of_32(block + 2, i) - 8);
  }
}

void dequantise_q4_1(const std::byte* block, float* out) {
  const float step = load_f16(block);
  const float minimum = load_f16(block + 2);
  for (int i = 0; i < 32; ++i) {
    out[i] = step * static_cast<float>(code_of_32(block + 4, i)) + minimum;
  }
}

void dequantise_q5_0(const std::byte* block, float* out) {
  const float step = load_f16(block);
  for (int i = 0; i < 32; ++i) {
    const int code = code_of_32(block + 6, i) | fifth_bit(block + 2, i);
    out[i] = step * static_cast<float>(code - 16);
  }
}

void dequantise_q5_1(const std::byte* block, float* out) {
  const float step = load_f16(block);
  const float minimum = load_f16(block + 2);
  for (int i = 0; i < 32; ++i) {
    const int code = code_of_32(block + 8, i) | fifth_bit(block + 4, i);
    out[i] = step * static_cast<float>(code) + minimum;
  }
}

void dequantise_q8_0(const std::byte* block, float* out) {
  const float step = load_f16(block);
  for (int i = 0; i < 32; ++i) out[i] = step * static_cast<float>(signed_byte_at(block + 2, i));
}

struct GroupCodes {
  int scale;
  int minimum;
};

/// Of 8 groups in 12 bytes. Groups 0 to 3: the low six bits of bytes 0 to 3 are scales, those of
/// bytes 4 to 7 minima. Groups 4 to 7: their low four bits are the halves of bytes 8 to 11, their
/// high two bits those that bytes 0 to 7 have left.
GroupCodes group_codes(const std::byte* packed, int group) {
  const int low = group % 4;
  const int scale = byte_at(packed, low);
  const int minimum = byte_at(packed, low + 4);
  if (group < 4) return {scale & 63, minimum & 63};
  const int rest = byte_at(packed, low + 8);
  return {(rest & 15) | ((scale >> 6) << 4), (rest >> 4) | ((minimum >> 6) << 4)};
}

/// Two groups share 32 bytes of `low_codes`, a half each; bit `group` of 32 bytes of `fifth_bits`,
/// where there are any, is the fifth of the code.
void dequantise_groups(const std::byte* block, const std::byte* low_codes,
                       const std::byte* fifth_bits, float* out) {
  const float step = load_f16(block);
  const float minimum_step = load_f16(block + 2);
  for (int group = 0; group < 8; ++group) {
    const GroupCodes codes = group_codes(block + 4, group);
    const float scale = step * static_cast<float>(codes.scale);
    const float minimum = minimum_step * static_cast<float>(codes.minimum);
    const std::byte* halves = low_codes + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int code = (byte_at(halves, i) >> (group % 2 * 4)) & 15;
      if (fifth_bits != nullptr) code |= ((byte_at(fifth_bits, i) >> group) & 1) << 4;
      out[group * 32 + i] = scale * static_cast<float>(code) - minimum;
    }
  }
}

void dequantise_q4_k(const std::byte* block, float* out) {
  dequantise_groups(block, block + 16, nullptr, out);
}

void dequantise_q5_k(const std::byte* block, float* out) {
  dequantise_groups(block, block + 48, block + 16, out);
}

/// Each half of 128 weights, in four runs of 32: runs 0 and 2 are the halves of 32 bytes, runs 1
/// and 3 of the next 32; bits 2 run and 2 run + 1 of 32 bytes more are the codes' high ones.
void dequantise_q6_k(const std::byte* block, float* out) {
  const std::byte* scales = block + 192;
  const float step = load_f16(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int run = i / 32 % 4;
    const int low = byte_at(block, half * 64 + run % 2 * 32 + i % 32) >> (run / 2 * 4) & 15;
    const int high = byte_at(block + 128, half * 32 + i % 32) >> (run * 2) & 3;
    const float scale = step * static_cast<float>(signed_byte_at(scales, i / 16));
    out[i] = scale * static_cast<float>((low | (high << 4)) - 32);
  }
}

struct FormatInfo {
  const char* name;
  std::size_t elements;
  std::size_t bytes;
  void (*dequantise)(const std::byte* block, float* out);
};

constexpr std::array<FormatInfo, 11> kFormats{{
    {"F32", 1, 4, dequantise_f32},
    {"F16", 1, 2, dequantise_f16},
    {"BF16", 1, 2, dequantise_bf16},
    {"Q4_0", 32, 18, dequantise_q4_0},
    {"Q4_1", 32, 20, dequantise_q4_1},
    {"Q5_0", 32, 22, dequantise_q5_0},
    {"Q5_1", 32, 24, dequantise_q5_1},
    {"Q8_0", 32, 34, dequantise_q8_0},
    {"Q4_K", 256, 144, dequantise_q4_k},
    {"Q5_K", 256, 176, dequantise_q5_k},
    {"Q6_K", 256, 210, dequantise_q6_k},
}};

const FormatInfo& info(BlockFormat format) { return kFormats.at(static_cast<std::size_t>(format)); }

}  // namespace

const char* name(BlockFormat format) { return info(format).name; }
std::size_t block_elements(BlockFormat format) { return info(format).elements; }
std::size_t block_bytes(BlockFormat format) { return info(format).bytes; }

void dequantise(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out) {
  const auto& [label, elements, bytes, dequantise_block] = info(format);
  const std::size_t count = out.size() / elements;
  check(out.size() % elements == 0, out.size(), " weights are not whole blocks of ", elements, " (",
        label, ")");
  check(blocks.size() % bytes == 0 && blocks.size() / bytes == count, out.size(), " weights of ",
        label, " do not lie in ", blocks.size(), " bytes");
  if (format == BlockFormat::f32) {
    if (count != 0) std::memcpy(out.data(), blocks.data(), blocks.size());
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    dequantise_block(blocks.data() + i * bytes, out.data() + i * elements);
  }
}

}  // namespace headwise
