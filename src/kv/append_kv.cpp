#include "kv/append_kv.h"

#include <cstring>

#include "core/check.h"
#include "core/number_formats.h"

namespace headwise {
namespace {

void check_new(const TensorView& view, const char* name, const PoolShape& shape, int dim) {
  const bool ok = view.rank == 3 && view.dtype == DType::f32 &&
                  view.device.type == DeviceType::cpu && view.sizes[1] == shape.kv_heads &&
                  view.sizes[2] == dim && view.strides[2] == 1;
  // The view's text is made only where it is needed: this runs for every layer of every step.
  if (!ok) {
    check(false, name, " must be f32 [tokens, ", shape.kv_heads, ", ", dim,
          "] with dense heads on the cpu, is ", to_string(view));
  }
}

void store(const float* values, int count, DType type, std::byte* to) {
  auto* halves = reinterpret_cast<std::uint16_t*>(to);
  switch (type) {
    case DType::f16:
      for (int i = 0; i < count; ++i) halves[i] = float_to_f16(values[i]);
      break;
    case DType::bf16:
      for (int i = 0; i < count; ++i) halves[i] = float_to_bf16(values[i]);
      break;
    default:  // f32: PagePool has refused every other type
      std::memcpy(to, values, sizeof(float) * static_cast<std::size_t>(count));
  }
}

/// `pool` is [pages, kv_heads, page_size, dim] bytes of a layer's K or V.
void append(const KvSequence& sequence, const TensorView& rows, int dim, std::byte* pool) {
  const PoolShape& shape = sequence.pool().shape();
  const std::int64_t row_bytes = dim * size_of(shape.type);
#pragma omp parallel for if (rows.sizes[0] > 1)
  for (std::int64_t token = 0; token < rows.sizes[0]; ++token) {
    const std::int64_t slot = sequence.length() + token;
    const std::int64_t page = sequence.pages()[static_cast<std::size_t>(slot / shape.page_size)];
    for (int head = 0; head < shape.kv_heads; ++head) {
      const std::int64_t row =
          (page * shape.kv_heads + head) * shape.page_size + slot % shape.page_size;
      const auto* values =
          static_cast<const float*>(rows.data) + token * rows.strides[0] + head * rows.strides[1];
      store(values, dim, shape.type, pool + row * row_bytes);
    }
  }
}

}  // namespace

void append_kv(const KvSequence& sequence, int layer, const TensorView& k, const TensorView& v) {
  const PagePool& pool = sequence.pool();
  const PoolShape& shape = pool.shape();
  check(layer >= 0 && layer < shape.layers, "layer ", layer, " of ", shape.layers);
  check_new(k, "k", shape, shape.head_dim_qk);
  check_new(v, "v", shape, shape.head_dim_v);
  check(k.sizes[0] == v.sizes[0], "k has ", k.sizes[0], " tokens, v ", v.sizes[0]);
  const std::int64_t room =
      static_cast<std::int64_t>(sequence.pages().size()) * shape.page_size - sequence.length();
  check(k.sizes[0] <= room, "room for ", room, " tokens was reserved, there are ", k.sizes[0]);
  append(sequence, k, shape.head_dim_qk, pool.k(layer));
  append(sequence, v, shape.head_dim_v, pool.v(layer));
}

}  // namespace headwise
