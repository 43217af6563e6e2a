#pragma once

// Functions of vectors of floats, over an instruction set. File-local, as tile_kernel.h says.

namespace headwise::tiled {
namespace {

template <class Isa>
struct VectorMath {
  using F = typename Isa::F;

  /// 2^x by a polynomial on [-1/2, 1/2] (minimax in relative error), within 1 ulp; 0 from -151
  /// down.
  static F power_of_two(F x) {
    x = Isa::max(Isa::set(-200.0F), x);  // NaN passes: max gives its second operand
    const F whole = Isa::round(x);
    const F f = Isa::sub(x, whole);
    F p = Isa::set(1.5353360504377633e-4F);
    p = Isa::fma(p, f, Isa::set(1.3398875016719103e-3F));
    p = Isa::fma(p, f, Isa::set(9.61843691766262e-3F));
    p = Isa::fma(p, f, Isa::set(5.5503323674201965e-2F));
    p = Isa::fma(p, f, Isa::set(0.24022647738456726F));
    p = Isa::fma(p, f, Isa::set(0.6931471824645996F));
    p = Isa::fma(p, f, Isa::set(1.0F));
    return Isa::scale_by_power(p, whole);
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
