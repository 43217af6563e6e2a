#pragma once

// Numbers of a call that become constants of the code it runs. File-local, as tile_kernel.h says.

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

/// A count that is known when the code is compiled.
template <int N>
struct Count {
  static constexpr int value = N;
};

/// Calls body(Count<n>) for n in 1 ... Most.
template <int Most, class Body>
void with_count(int n, Body&& body) {
  if constexpr (Most > 1)
    if (n < Most) return with_count<Most - 1>(n, body);
  body(Count<Most>{});
}

constexpr std::int64_t padded(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// A type that is known when the code is compiled.
template <Stored Type>
struct TypeIs {
  static constexpr Stored value = Type;
};

template <class Body>
void with_type(Stored type, Body&& body) {
  switch (type) {
    case Stored::f32:
      return body(TypeIs<Stored::f32>{});
    case Stored::f16:
      return body(TypeIs<Stored::f16>{});
    case Stored::bf16:
      return body(TypeIs<Stored::bf16>{});
    case Stored::f8e4m3:
      return body(TypeIs<Stored::f8e4m3>{});
    case Stored::i8:
      return body(TypeIs<Stored::i8>{});
  }
}

}  // namespace
}  // namespace headwise::tiled
