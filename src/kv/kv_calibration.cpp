#include "headwise/kv_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/validate.h"
#include "core/check.h"
#include "headwise/kv_cache.h"
#include "kv/stored_number.h"

namespace headwise {
namespace {

constexpr float kLargestE4m3 = 448.0F;

/// The least scale under which a magnitude does not saturate; of what is next to nothing, 1.
float scale_for(float greatest) {
  float scale = greatest / kLargestE4m3;
  if (scale == 0.0F) return 1.0F;
  while (greatest / scale > kLargestE4m3)  // as the division was rounded
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return scale;
}

void check_rows(const TensorView& view, std::string_view field, std::int64_t tokens, int heads,
                int dim) {
  check_view(view, {.field = field, .rank = 3});
  check(view.device.type == DeviceType::cpu, field, " is on ", to_string(view.device),
        "; calibration reads it on the CPU");
  check(!is_8_bit(view.dtype), field, " is ", name_of(view.dtype), "; it must be f32, f16 or bf16");
  check_size(view, field, 0, tokens, "the tokens");
  check_size(view, field, 1, heads, "kv_heads");
  check_size(view, field, 2, dim, "the head dimension");
}

}  // namespace

KvCalibration::KvCalibration(const LayerGroup& group) : group_(group) {
  kv_bytes_per_token(group);  // validates it
  check(group.shape.kv_type == DType::f8e4m3, "K and V of ", name_of(group.shape.kv_type),
        " need no calibration");
  const auto layers = static_cast<std::size_t>(group.layers);
  greatest_.resize(layers * 2 * static_cast<std::size_t>(group.shape.kv_heads));
  seen_.resize(layers);
}

void KvCalibration::observe(int layer, const TensorView& k, const TensorView& v) {
  const AttentionShape& shape = group_.shape;
  check(layer >= 0 && layer < group_.layers, "layer ", layer, " of a group of ", group_.layers);
  check_rows(k, "k", k.sizes[0], shape.kv_heads, shape.head_dim_qk);
  if (!shape.v_is_k_prefix) check_rows(v, "v", k.sizes[0], shape.kv_heads, shape.head_dim_v);
  if (k.sizes[0] == 0) return;
  observe_tensor(layer, false, k, shape.head_dim_qk);
  if (!shape.v_is_k_prefix) observe_tensor(layer, true, v, shape.head_dim_v);
  seen_[static_cast<std::size_t>(layer)] = true;
}

void KvCalibration::observe_tensor(int layer, bool of_v, const TensorView& tensor, int dim) {
  const int heads = group_.shape.kv_heads;
  for (int head = 0; head < heads; ++head) {
    float& greatest = greatest_[static_cast<std::size_t>((layer * 2 + of_v) * heads + head)];
    for (std::int64_t token = 0; token < tensor.sizes[0]; ++token) {
      const std::int64_t first = token * tensor.strides[0] + head * tensor.strides[1];
      for (int i = 0; i < dim; ++i) {
        const float magnitude = std::fabs(stored_number(tensor, first + i));
        if (std::isfinite(magnitude)) greatest = std::max(greatest, magnitude);
      }
    }
  }
}

std::vector<float> KvCalibration::scales(int layer, bool of_v) const {
  check(layer >= 0 && layer < group_.layers, "layer ", layer, " of a group of ", group_.layers);
  check(seen_[static_cast<std::size_t>(layer)], "no token of layer ", layer, " was seen");
  const int heads = group_.shape.kv_heads;
  const auto first = greatest_.begin() + (layer * 2 + of_v) * heads;
  std::vector<float> scales(first, first + heads);
  if (group_.shape.fp8_scale == ScaleGranularity::tensor)
    scales = {*std::max_element(scales.begin(), scales.end())};
  for (float& scale : scales) scale = scale_for(scale);
  return scales;
}

std::vector<float> KvCalibration::k_scales(int layer) const { return scales(layer, false); }
std::vector<float> KvCalibration::v_scales(int layer) const { return scales(layer, true); }

void KvCalibration::apply(KvCache& cache, int group) const {
  check(group >= 0 && group < cache.groups(), "group ", group, " of a cache of ", cache.groups());
  const LayerGroup& target = cache.options().groups[static_cast<std::size_t>(group)].group;
  check(target.layers == group_.layers && target.shape == group_.shape, "the calibration is of ",
        group_.layers, " layers of ", to_string(group_.shape), ", the group has ", target.layers,
        " of ", to_string(target.shape));
  for (int layer = 0; layer < group_.layers; ++layer) scales(layer, false);  // all were seen
  for (int layer = 0; layer < group_.layers; ++layer)
    cache.set_scales(group, layer, k_scales(layer), v_scales(layer));
}

}  // namespace headwise
