#include <cmath>

#include "attention/validate.h"
#include "core/check.h"
#include "headwise/append_kv.h"

namespace headwise {
namespace {

void check_new_rows(const TensorView& rows, std::string_view field, const AttentionShape& shape,
                    int head_dim, std::string_view dim_name) {
  check_view(rows, {.field = field, .rank = 3});
  check(!is_8_bit(rows.dtype), field, ".dtype is ", name_of(rows.dtype),
        "; new tokens are f32, f16 or bf16");
  check_size(rows, field, 1, shape.kv_heads, "kv_heads");
  check_size(rows, field, 2, head_dim, dim_name);
}

/// `tokens`: as the host's lengths say; -1: rows are found by their numbers on the device.
void check_new(const AttentionShape& shape, const AppendArgs& args, std::int64_t tokens) {
  check_new_rows(args.k, "new k", shape, shape.head_dim_qk, "head_dim_qk");
  if (tokens >= 0) check_size(args.k, "new k", 0, tokens, "the sum of q_lens");
  check(static_cast<bool>(args.v) != shape.v_is_k_prefix, "new v is ", args.v ? "given" : "absent",
        "; v_is_k_prefix is ", shape.v_is_k_prefix);
  if (!args.v) return;
  check_new_rows(args.v, "new v", shape, shape.head_dim_v, "head_dim_v");
  check_size(args.v, "new v", 0, args.k.sizes[0], "new k.sizes[0]");
  check_dtype(args.v, "new v", args.k.dtype);
  check(args.v.device == args.k.device, "new v.device is ", to_string(args.v.device),
        "; new k is on ", to_string(args.k.device));
}

void check_cache(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) {
  const MutableKvView& cache = args.cache;
  validate(shape, cache, step.layout);
  const int rank = cache.k.rank;
  check_view(cache.k, {.field = "k", .rank = rank, .written = true});
  if (cache.v) check_view(cache.v, {.field = "v", .rank = rank, .written = true});
  for (const auto& [scale, field] :
       {std::pair{&cache.k_scale, "k_scale"}, {&cache.v_scale, "v_scale"}})
    if (*scale)
      check_view(*scale,
                 {.field = field, .rank = rank - 1, .unit_last_stride = false, .written = true});
  check(cache.k.device == args.k.device, "k.device is ", to_string(cache.k.device),
        "; new k is on ", to_string(args.k.device));
  const bool paged = step.layout == KvLayout::paged;
  check(!paged || cache.k.sizes[2] == step.tables.page_size, "k.sizes[2] is ", cache.k.sizes[2],
        "; tables.page_size is ", step.tables.page_size);
  const std::int64_t least = paged ? step.tables.pool_pages : step.packed_tokens;
  check(cache.k.sizes[0] >= least, "k.sizes[0] is ", cache.k.sizes[0], "; ",
        paged ? "tables.pool_pages is " : "packed_tokens is ", least);
}

void check_scales(const AttentionShape& shape, const float* scales, std::string_view field) {
  if (scales == nullptr) return;
  const int count = shape.fp8_scale == ScaleGranularity::kv_head ? shape.kv_heads : 1;
  for (int i = 0; i < count; ++i)
    check(std::isfinite(scales[i]) && scales[i] != 0.0F, field, "[", i, "] is ", scales[i],
          "; it must be finite and not 0");
}

/// The block table entries of new tokens.
void check_new_entries(const StepBatch& step) {
  const BlockTables& tables = step.tables;
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    if (step.q_lens[r] == 0) continue;
    const std::int64_t first = (step.kv_lens[r] - step.q_lens[r]) / tables.page_size;
    const std::int64_t last = (step.kv_lens[r] - 1) / tables.page_size;
    for (int head = 0; head < tables.heads; ++head) {
      const std::int64_t row =
          r * tables.request_stride + (head > 0 ? head * tables.head_stride : 0);
      for (std::int64_t k = first; k <= last; ++k)
        check(tables.pages[row + k] >= 0 && tables.pages[row + k] < tables.pool_pages,
              "block table entry ", k, " of request ", r, " is ", tables.pages[row + k],
              "; the pool has ", tables.pool_pages, " pages");
    }
  }
}

}  // namespace

void validate(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) {
  validate(shape);
  const std::int64_t tokens = check_lengths(step);
  for (std::int64_t r = 0; r < step.requests(); ++r)
    check(step.q_lens[r] <= step.kv_lens[r], "q_lens[", r, "] is ", step.q_lens[r],
          "; with kv_lens[", r, "] ", step.kv_lens[r], " there is no slot for every new token");
  check_new(shape, args, args.first_rows == nullptr ? tokens : -1);
  check_cache(shape, step, args);
  check_key_places(shape, step, args.k.device);
  if (args.k.device.type != DeviceType::cpu) return;
  check(args.first_rows == nullptr, "first_rows are given, but the tensors are on the CPU");
  if (step.layout == KvLayout::paged) check_new_entries(step);
  if (shape.kv_type != DType::f8e4m3) return;
  check_scales(shape, args.k_scale, "k_scale");
  if (args.v) check_scales(shape, args.v_scale, "v_scale");
}

}  // namespace headwise
