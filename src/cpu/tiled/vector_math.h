#pragma once

// Functions of vectors of floats, over an instruction set. File-local, as tile_kernel.h says.

namespace headwise::tiled {
namespace {

template <class Isa>
struct VectorMath {
  using F = typename Isa::F;

  /// 2^x within 2 ulp for x to 127; 0 from -151 down, 0 of -inf, NaN of NaN. A polynomial of the
  /// fraction in [0, 1), minimax in relative error and 1 at 0.
  static F power_of_two(F x) {
    const F f = Isa::fraction(x);
    F p = Isa::set(2.161291631637141e-4F);
    p = Isa::fma(p, f, Isa::set(1.2467845808714628e-3F));
    p = Isa::fma(p, f, Isa::set(9.675451554358006e-3F));
    p = Isa::fma(p, f, Isa::set(5.5485282093286514e-2F));
    p = Isa::fma(p, f, Isa::set(0.2402293086051941F));
    p = Isa::fma(p, f, Isa::set(0.6931470632553101F));
    p = Isa::fma(p, f, Isa::set(1.0F));
    return Isa::scale_by_floor(p, x);
  }

  /// The same within 1e-4 of its value: a weight that will be rounded to bf16 needs no more.
  static F coarse_power_of_two(F x) {
    const F f = Isa::fraction(x);
    F p = Isa::set(0.0770670473575592F);
    p = Isa::fma(p, f, Isa::set(0.22764497995376587F));
    p = Isa::fma(p, f, Isa::set(0.6951168179512024F));
    p = Isa::fma(p, f, Isa::set(1.0F));
    return Isa::scale_by_floor(p, x);
  }

  static F weight(F x) {
    if constexpr (Isa::kPairs) return coarse_power_of_two(x);
    return power_of_two(x);
  }

  static float one_power_of_two(float x) { return Isa::first(power_of_two(Isa::set(x))); }

  /// tanh: a series near 0, where the quotient would cancel.
  static F hyperbolic_tangent(F y) {
    const F square = Isa::mul(y, y);
    F series = Isa::set(62.0F / 2835.0F);
    series = Isa::fma(series, square, Isa::set(-17.0F / 315.0F));
    series = Isa::fma(series, square, Isa::set(2.0F / 15.0F));
    series = Isa::fma(series, square, Isa::set(-1.0F / 3.0F));
    series = Isa::fma(Isa::mul(series, square), y, y);
    const F power =
        power_of_two(Isa::mul(Isa::abs(y), Isa::set(-2.8853900817779268F)));  // e^(-2|y|)
    const F one = Isa::set(1.0F);
    const F quotient = Isa::div(Isa::sub(one, power), Isa::add(one, power));
    return Isa::where_less(Isa::abs(y), Isa::set(0.25F), series, Isa::copy_sign(quotient, y));
  }
};

}  // namespace
}  // namespace headwise::tiled
