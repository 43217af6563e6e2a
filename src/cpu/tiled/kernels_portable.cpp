#include <utility>

#include "core/number_formats.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tile_kernel.h"

namespace headwise::tiled {
namespace {

/// Plain C++, four floats at a time: every processor, and the text of the others' tests.
struct Portable {
  struct F {
    float lane[4];
  };
  static constexpr int kLanes = 4;
  static constexpr int kRows = 4;
  static constexpr int kColumns = 2;
  static constexpr int kSums = 4;  // that few rows keep in registers
  static constexpr bool kPairs = false;
  static constexpr bool kMatrixTiles = false;

  template <Stored kType>
  using Stretch = InOrder<Portable, kType>;

  template <class Function>
  static F each(Function&& function) {
    F x;
    for (int i = 0; i < kLanes; ++i) x.lane[i] = function(i);
    return x;
  }

  static F zero() { return {}; }
  static F set(float x) {
    return each([&](int) { return x; });
  }
  static F load_floats(const float* p) {
    return each([&](int i) { return p[i]; });
  }
  static F load_units(const std::uint32_t* p) {
    return each([&](int i) { return std::bit_cast<float>(p[i]); });
  }
  static F broadcast_unit(const std::uint32_t* p) { return set(std::bit_cast<float>(*p)); }
  static void store(float* p, F x) {
    for (int i = 0; i < kLanes; ++i) p[i] = x.lane[i];
  }
  static F add(F a, F b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F sub(F a, F b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static F mul(F a, F b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F div(F a, F b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  /// Rounded once, as the exponent of a weight needs it where logits are huge.
  static F fma(F a, F b, F c) {
    return each([&](int i) {
      return static_cast<float>(static_cast<double>(a.lane[i]) * b.lane[i] + c.lane[i]);
    });
  }
  /// The second operand where one is NaN.
  static F max(F a, F b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F abs(F a) {
    return each([&](int i) { return std::fabs(a.lane[i]); });
  }
  /// Far enough below the least power of two that a float holds; NaN passes.
  static float bounded(float x) { return x < -200.0F ? -200.0F : x; }
  static F fraction(F x) {
    return each([&](int i) { return bounded(x.lane[i]) - std::floor(bounded(x.lane[i])); });
  }
  static F scale_by_floor(F a, F x) {
    return each([&](int i) {
      const float whole = std::floor(bounded(x.lane[i]));
      return whole == whole ? std::ldexp(a.lane[i], static_cast<int>(whole)) : whole;
    });
  }
  static float first(F a) { return a.lane[0]; }
  static float sum(F a) { return (a.lane[0] + a.lane[1]) + (a.lane[2] + a.lane[3]); }
  static float largest(F a) {
    float most = a.lane[0];
    for (const float x : a.lane) most = x > most ? x : most;
    return most;
  }
  static bool any_greater(F a, F b) {
    bool any = false;
    for (int i = 0; i < kLanes; ++i) any |= a.lane[i] > b.lane[i];
    return any;
  }
  static F multiply_add(F sum, F a, F b) {
    return each([&](int i) { return sum.lane[i] + a.lane[i] * b.lane[i]; });
  }
  static F copy_sign(F magnitude, F sign) {
    return each([&](int i) { return std::copysign(magnitude.lane[i], sign.lane[i]); });
  }
  static F where_less(F a, F b, F yes, F no) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
  }
  static F where_between(const std::int32_t* p, std::int32_t low, std::int32_t high, F yes, F no) {
    return each([&](int i) { return p[i] >= low && p[i] <= high ? yes.lane[i] : no.lane[i]; });
  }
  static F sums_of(const F* v) {
    return each([&](int i) { return sum(v[i]); });
  }
  static void transpose(F* x) {
    for (int i = 0; i < kLanes; ++i)
      for (int j = 0; j < i; ++j) std::swap(x[i].lane[j], x[j].lane[i]);
  }
  template <Stored kType>
  static F load(const void* from, std::int64_t at, int left) {
    return each([&](int i) {
      if (i >= left) return 0.0F;
      if constexpr (kType == Stored::f32) return static_cast<const float*>(from)[at + i];
      if constexpr (kType == Stored::f16)
        return f16_to_float(static_cast<const std::uint16_t*>(from)[at + i]);
      if constexpr (kType == Stored::bf16)
        return bf16_to_float(static_cast<const std::uint16_t*>(from)[at + i]);
      if constexpr (kType == Stored::f8e4m3)
        return e4m3_to_float(static_cast<const std::uint8_t*>(from)[at + i]);
      return static_cast<float>(static_cast<const std::int8_t*>(from)[at + i]);
    });
  }

  static void store_as(Stored type, F x, void* to, std::int64_t at, int left) {
    for (int i = 0; i < kLanes && i < left; ++i) {
      if (type == Stored::f32)
        static_cast<float*>(to)[at + i] = x.lane[i];
      else
        static_cast<std::uint16_t*>(to)[at + i] =
            type == Stored::f16 ? float_to_f16(x.lane[i]) : float_to_bf16(x.lane[i]);
    }
  }
};

}  // namespace

const TileKernels kPortableF32 = Kernel<Portable>::kernels("portable f32");

}  // namespace headwise::tiled
