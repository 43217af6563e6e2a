#include <bit>
#include <cstdint>

#include "core/vector_clones.h"
#include "ops/activation.h"
#include "ops/rows.h"

namespace headwise {
namespace {

/// e^x to 2e-7, beyond e^+-87 its value there: two to a whole power, times a polynomial of the rest
/// (Taylor's, of an exponent within ln(2) / 2). Loops over it become vectors.
inline float exponential(float x) {
  const float limited = x < -87.0F ? -87.0F : x > 87.0F ? 87.0F : x;
  const float magic = 0x1.8p23F;  // adding it rounds to a whole number
  const float whole = (limited * 1.44269504F + magic) - magic;
  const float rest = (limited - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float power = 1.0F / 5040;
  power = power * rest + 1.0F / 720;
  power = power * rest + 1.0F / 120;
  power = power * rest + 1.0F / 24;
  power = power * rest + 1.0F / 6;
  power = power * rest + 0.5F;
  power = power * rest + 1.0F;
  power = power * rest + 1.0F;
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) + 127) << 23;
  return power * std::bit_cast<float>(bits);
}

/// z, or -87 where it is less: exponential() ends there, and what it gates is 0 by then.
inline float no_less(float z) { return z < -87.0F ? -87.0F : z; }

HEADWISE_VECTOR_CLONES
void silu_row(const float* gate, const float* up, float* y, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i)
    y[i] = no_less(gate[i]) / (1.0F + exponential(-gate[i])) * up[i];
}

HEADWISE_VECTOR_CLONES
void gelu_row(const float* gate, const float* up, float* y, std::int64_t width) {
  constexpr float kTwice = 2.0F * 0.797884561F;  // (1 + tanh(u)) / 2 = 1 / (1 + e^-2u)
  for (std::int64_t i = 0; i < width; ++i) {
    const float z = gate[i];
    const float u = kTwice * (z + 0.044715F * z * z * z);
    y[i] = no_less(z) / (1.0F + exponential(-u)) * up[i];
  }
}

using RowFunction = void (*)(const float*, const float*, float*, std::int64_t);

void gated(RowFunction of_row, const TensorView& gate, const TensorView& up,
           const MutableTensorView& y) {
  const Rows<const float> g = rows_of(gate, "gate");
  const Rows<const float> u = rows_of(up, "up");
  const Rows<float> out = rows_of(y, "y");
  check(u.count == g.count && u.width == g.width, "up is [", u.count, ", ", u.width, "], gate is [",
        g.count, ", ", g.width, "]");
  check(out.count == g.count && out.width == g.width, "y is [", out.count, ", ", out.width,
        "], gate is [", g.count, ", ", g.width, "]");
#pragma omp parallel for if (g.count > 1)
  for (std::int64_t row = 0; row < g.count; ++row) of_row(g[row], u[row], out[row], g.width);
}

}  // namespace

void silu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y) {
  gated(silu_row, gate, up, y);
}

void gelu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y) {
  gated(gelu_row, gate, up, y);
}

}  // namespace headwise
