#include "kv/fp8_scales.h"

#include <cmath>
#include <string_view>

#include "core/check.h"

namespace headwise {
namespace {

template <class T>
std::shared_ptr<T> allocate(const DeviceMemory& memory, std::int64_t count) {
  const std::shared_ptr<std::byte> bytes =
      memory.allocate(count * static_cast<std::int64_t>(sizeof(T)));
  return {bytes, reinterpret_cast<T*>(bytes.get())};
}

void check_scales(std::span<const float> scales, std::int64_t count, std::string_view of) {
  check(static_cast<std::int64_t>(scales.size()) == count, of, " has ", scales.size(),
        " scales; the group wants ", count);
  for (const float scale : scales)
    check(std::isfinite(scale) && scale > 0.0F, "a scale of ", of, " is ", scale,
          "; it must be above 0 and finite");
}

}  // namespace

Fp8Scales::Fp8Scales(const LayerGroup& group, const DeviceMemory& memory)
    : memory_(&memory),
      scales_(group.shape.fp8_scale == ScaleGranularity::kv_head ? group.shape.kv_heads : 1),
      set_(static_cast<std::size_t>(group.layers)) {
  if (group.shape.kv_type != DType::f8e4m3) return;
  data_ = allocate<float>(memory, group.layers * 2 * scales_);
  saturated_ = allocate<std::uint64_t>(memory, 1);
  const std::uint64_t none = 0;
  memory.upload(reinterpret_cast<std::byte*>(saturated_.get()), &none, sizeof(none), nullptr);
}

void Fp8Scales::set(int layer, std::span<const float> k, std::span<const float> v) {
  check_scales(k, scales_, "K");
  check_scales(v, scales_, "V");
  std::vector<float> both(k.begin(), k.end());
  both.insert(both.end(), v.begin(), v.end());
  auto* to = reinterpret_cast<std::byte*>(of(layer));
  const auto bytes = static_cast<std::int64_t>(both.size() * sizeof(float));
  memory_->upload(to, both.data(), bytes, nullptr);
  memory_->download(both.data(), to, bytes, nullptr);  // waits: any stream may read them now
  set_[static_cast<std::size_t>(layer)] = true;
}

std::uint64_t Fp8Scales::count_saturated(void* stream) const {
  if (!wanted()) return 0;
  std::uint64_t count = 0;
  memory_->download(&count, reinterpret_cast<const std::byte*>(saturated_.get()), sizeof(count),
                    stream);
  return count;
}

}  // namespace headwise
