#include "bench/shared_tensors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/free_memory.h"
#include "core/check.h"
#include "core/number_formats.h"

namespace headwise::bench {
namespace {

/// One row of K or V, `count` elements of `type`, as floats.
void read_row(const std::byte* from, DType type, float scale, int count, float* to) {
  const auto read = [&]<class T>(auto&& convert) {
    const T* codes = reinterpret_cast<const T*>(from);
    for (int i = 0; i < count; ++i) to[i] = scale * convert(codes[i]);
  };
  switch (type) {
    case DType::f32:
      return read.operator()<float>([](float value) { return value; });
    case DType::f16:
      return read.operator()<std::uint16_t>(f16_to_float);
    case DType::bf16:
      return read.operator()<std::uint16_t>(bf16_to_float);
    case DType::f8e4m3:
      return read.operator()<std::uint8_t>(e4m3_to_float);
    case DType::i8:
      return read.operator()<std::int8_t>([](std::int8_t code) { return float{1} * code; });
  }
}

void write_row(const float* from, DType type, int count, std::byte* to) {
  if (type == DType::f32) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  auto* codes = reinterpret_cast<std::uint16_t*>(to);
  for (int i = 0; i < count; ++i)
    codes[i] = type == DType::f16 ? float_to_f16(from[i]) : float_to_bf16(from[i]);
}

/// Where a request's head lies in K or V of one copy, and its scales.
struct Cache {
  TensorView values;        // [pages, kv_heads, page_size, dim]
  TensorView token_scales;  // i8: [pages, kv_heads, page_size]
  const float* scales;      // f8e4m3: [1] or [kv_heads]
  bool scale_a_head;

  float scale(std::int64_t head, std::int64_t slot) const {
    if (values.dtype == DType::i8) return static_cast<const float*>(token_scales.data)[slot];
    if (values.dtype == DType::f8e4m3) return scales[scale_a_head ? head : 0];
    return 1.0F;
  }
};

void refuse_what_no_peer_can(const AttentionShape& shape, bool on_gpu) {
  if (shape.q_type == DType::f8e4m3)
    throw Error(ErrorCode::not_possible, "FP8 products: no peer is set up for them");
  if (shape.v_is_k_prefix)
    throw Error(ErrorCode::not_possible, "absorbed MLA: no peer is set up for it");
  if (shape.window_left >= 0)
    throw Error(ErrorCode::not_possible, "a window: no peer is set up for it");
  if (on_gpu && shape.kv_type == DType::i8)
    throw Error(ErrorCode::not_possible, "int8 KV: no peer on a GPU is set up for it");
}

}  // namespace

SharedTensors::SharedTensors(const AttentionShape& shape, const Workload& workload,
                             StepTensors& tensors)
    : request_(std::make_unique<nlohmann::json>()) {
  refuse_what_no_peer_can(shape, tensors.gpu() != nullptr);
  const std::int64_t element = size_of(shape.q_type);
  const std::int64_t keys =
      std::accumulate(workload.kv_lens.begin(), workload.kv_lens.end(), std::int64_t{0});
  const std::int64_t k_start = tensors.q(0).size();
  const std::int64_t v_start = k_start + keys * shape.kv_heads * shape.head_dim_qk * element;
  const std::int64_t v_end = v_start + keys * shape.kv_heads * shape.head_dim_v * element;
  out_start_ = (v_end + 63) / 64 * 64;
  size_ = out_start_ + workload.tokens() * shape.q_heads * shape.head_dim_v * size_of(DType::f32);
  // This, and as much for the peer's own.
  if (const std::int64_t free = free_memory(); size_ > free / 5 * 2)
    throw Error(ErrorCode::not_possible,
                concat("a peer needs ", format_bytes(2.0 * static_cast<double>(size_)), " more; ",
                       format_bytes(static_cast<double>(free)), " are free"));
  file_ = memfd_create("headwise-step", MFD_CLOEXEC);
  const auto bytes = static_cast<std::size_t>(size_);
  void* memory = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, size_) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) {
    const int why = errno;
    if (file_ >= 0) close(file_);
    throw Error(ErrorCode::not_possible, concat("no memory to share: ", std::strerror(why)));
  }
  memory_ = static_cast<std::byte*>(memory);
  if (tensors.gpu() == nullptr) {
    take(shape, workload, tensors, k_start, v_start);
  } else {
    StepTensors host = tensors.on_cpu(0);
    take(shape, workload, host, k_start, v_start);
  }
  describe(shape, workload, tensors, k_start, v_start);
}

void SharedTensors::take(const AttentionShape& shape, const Workload& workload,
                         StepTensors& tensors, std::int64_t k_start, std::int64_t v_start) {
  std::memcpy(memory_, tensors.q(0).data(), static_cast<std::size_t>(k_start));
  gather(shape, workload, tensors, true, memory_ + k_start);
  gather(shape, workload, tensors, false, memory_ + v_start);
}

SharedTensors::~SharedTensors() {
  // Peers may keep the file mapped, but not its memory.
  madvise(memory_, static_cast<std::size_t>(size_), MADV_REMOVE);
  munmap(memory_, static_cast<std::size_t>(size_));
  close(file_);
}

void SharedTensors::gather(const AttentionShape& shape, const Workload& workload,
                           StepTensors& tensors, bool keys, std::byte* to) {
  const KvView kv = tensors.kv(0);
  const RunArgs args = tensors.args(0);
  const Cache cache{.values = keys ? kv.k : kv.v,
                    .token_scales = keys ? kv.k_scale : kv.v_scale,
                    .scales = keys ? args.k_scale : args.v_scale,
                    .scale_a_head = shape.fp8_scale == ScaleGranularity::kv_head};
  const int dim = keys ? shape.head_dim_qk : shape.head_dim_v;
  const std::int64_t row_bytes = dim * size_of(shape.kv_type);
  const std::int64_t out_bytes = dim * size_of(shape.q_type);
  const std::int64_t page = tensors.page_size();
  for (std::size_t r = 0; r < workload.kv_lens.size(); ++r) {
    const std::int64_t kv_len = workload.kv_lens[r];
    const std::int32_t* table = tensors.table(static_cast<std::int64_t>(r));
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < shape.kv_heads * kv_len; ++row) {
      const std::int64_t head = row / kv_len;
      const std::int64_t token = row % kv_len;
      const std::int64_t slot =
          (table[token / page] * static_cast<std::int64_t>(shape.kv_heads) + head) * page +
          token % page;
      const std::byte* from = static_cast<const std::byte*>(cache.values.data) + slot * row_bytes;
      if (shape.kv_type == shape.q_type) {
        std::memcpy(to + row * out_bytes, from, static_cast<std::size_t>(row_bytes));
        continue;
      }
      std::vector<float> values(static_cast<std::size_t>(dim));
      read_row(from, shape.kv_type, cache.scale(head, slot), dim, values.data());
      write_row(values.data(), shape.q_type, dim, to + row * out_bytes);
    }
    to += shape.kv_heads * kv_len * out_bytes;
  }
}

void SharedTensors::describe(const AttentionShape& shape, const Workload& workload,
                             const StepTensors& tensors, std::int64_t k_start,
                             std::int64_t v_start) {
  *request_ = {{"shape",
                {{"q_heads", shape.q_heads},
                 {"kv_heads", shape.kv_heads},
                 {"head_dim_qk", shape.head_dim_qk},
                 {"head_dim_v", shape.head_dim_v},
                 {"q_type", name_of(shape.q_type)},
                 {"kv_type", name_of(shape.kv_type)},
                 {"scale", shape.logit_scale()},
                 {"window_left", shape.window_left},
                 {"window_right", shape.window_right},
                 {"softcap", shape.softcap},
                 {"sinks", shape.sinks}}},
               {"q_lens", workload.q_lens},
               {"kv_lens", workload.kv_lens},
               {"page_size", tensors.page_size()},
               {"shared_prefix", workload.shared_prefix},
               {"prompts", workload.prompts},
               {"tensors",
                {{"path", concat("/proc/", getpid(), "/fd/", file_)},
                 {"type", name_of(shape.q_type)},
                 {"q", 0},
                 {"k", k_start},
                 {"v", v_start},
                 {"out", out_start_}}}};
  if (shape.kv_type == DType::f8e4m3 && shape.fp8_scale == ScaleGranularity::tensor) {
    (*request_)["k_scale"] = tensors.k_scale().front();
    (*request_)["v_scale"] = tensors.v_scale().front();
  }
}

void SharedTensors::poison() {
  std::memset(memory_ + out_start_, 0xff, static_cast<std::size_t>(size_ - out_start_));
}

}  // namespace headwise::bench
