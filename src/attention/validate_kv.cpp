#include "attention/validate.h"
#include "core/check.h"
#include "headwise/kv_binding.h"

namespace headwise {
namespace {

void check_cache_view(const AttentionShape& shape, const TensorView& view, std::string_view field,
                      KvLayout layout, int head_dim, std::string_view dim_name) {
  const int rank = layout == KvLayout::paged ? 4 : 3;
  check_view(view, {.field = field, .rank = rank});
  check_dtype(view, field, shape.kv_type);
  check_size(view, field, 1, shape.kv_heads, "kv_heads");
  check_size(view, field, rank - 1, head_dim, dim_name);
}

void check_same_cache(const TensorView& view, std::string_view field, const TensorView& k,
                      KvLayout layout) {
  check_size(view, field, 0, k.sizes[0], "k.sizes[0]");
  if (layout == KvLayout::paged) check_size(view, field, 2, k.sizes[2], "k.sizes[2]");
  check(view.device == k.device, field, ".device is ", to_string(view.device), "; k is on ",
        to_string(k.device));
}

void check_scales(const AttentionShape& shape, const TensorView& scale, std::string_view field,
                  bool wanted, const TensorView& k, KvLayout layout) {
  check(wanted || !scale, field, " is given; only i8 keys and values have a scale a token");
  if (!wanted) return;
  check_view(
      scale,
      {.field = field, .rank = layout == KvLayout::paged ? 3 : 2, .unit_last_stride = false});
  check_dtype(scale, field, DType::f32);
  check_size(scale, field, 1, shape.kv_heads, "kv_heads");
  check_same_cache(scale, field, k, layout);
}

}  // namespace

void validate(const AttentionShape& shape, const KvView& kv, KvLayout layout) {
  check_cache_view(shape, kv.k, "k", layout, shape.head_dim_qk, "head_dim_qk");
  check(layout == KvLayout::packed || kv.k.sizes[2] > 0, "k.sizes[2] is 0; a page holds tokens");
  if (shape.v_is_k_prefix) {
    check(!kv.v, "v is given, but the shape has v_is_k_prefix");
  } else {
    check_cache_view(shape, kv.v, "v", layout, shape.head_dim_v, "head_dim_v");
    check_same_cache(kv.v, "v", kv.k, layout);
  }
  const bool scaled = shape.kv_type == DType::i8;
  check_scales(shape, kv.k_scale, "k_scale", scaled, kv.k, layout);
  check_scales(shape, kv.v_scale, "v_scale", scaled && !shape.v_is_k_prefix, kv.k, layout);
}

}  // namespace headwise
