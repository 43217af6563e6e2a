#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "headwise/dtype.h"

// Stored numbers as the compiler knows them. Widening is exact, narrowing rounds to nearest even.

namespace headwise::cuda::standard {

using E4m3 = __nv_fp8_e4m3;

template <class Number>
__device__ float to_float(Number number) {
  return static_cast<float>(number);
}

template <class Number>
__device__ Number from_float(float value) {
  if constexpr (std::is_same_v<Number, __half>)
    return __float2half_rn(value);
  else if constexpr (std::is_same_v<Number, __nv_bfloat16>)
    return __float2bfloat16_rn(value);
  else
    return value;
}

/// Neighbours that are loaded or stored at once.
template <class Number, int count>
struct alignas(count * sizeof(Number) < 16 ? count * sizeof(Number) : 16) Pack {
  Number number[count];
};

template <class Number>
struct NumberType {
  using Type = Number;
};

/// Calls visit(NumberType<...>{}).
template <class Visit>
void with_stored_type(DType type, Visit&& visit) {
  if (type == DType::i8) return visit(NumberType<std::int8_t>{});
  if (type == DType::f8e4m3) return visit(NumberType<E4m3>{});
  if (type == DType::bf16) return visit(NumberType<__nv_bfloat16>{});
  if (type == DType::f16) return visit(NumberType<__half>{});
  return visit(NumberType<float>{});
}

/// The same for the types that have products.
template <class Visit>
void with_product_type(DType type, Visit&& visit) {
  if (type == DType::bf16) return visit(NumberType<__nv_bfloat16>{});
  if (type == DType::f16) return visit(NumberType<__half>{});
  return visit(NumberType<float>{});
}

/// Whether all numbers of From are numbers of To.
template <class From, class To>
inline constexpr bool kExact = std::is_same_v<From, To> || std::is_same_v<To, float> ||
                               sizeof(From) == 1;

}  // namespace headwise::cuda::standard
