#include "tests/attention/bad_input_entries.h"

#include <cstddef>
#include <limits>
#include <type_traits>

#include "headwise/registry.h"

namespace headwise::bad_input {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int32_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr Device kGpu{DeviceType::cuda, 0};

template <class View>
void shift_bytes(View& view, int bytes) {
  using Byte = std::conditional_t<std::is_same_v<View, TensorView>, const std::byte, std::byte>;
  view.data = static_cast<Byte*>(view.data) + bytes;
}

Entry paged(const char* what, void (*spoil)(World&), std::vector<std::string> words) {
  return {what, Kind::paged, spoil, nullptr, std::move(words)};
}
Entry packed(const char* what, void (*spoil)(World&), std::vector<std::string> words) {
  return {what, Kind::packed, spoil, nullptr, std::move(words)};
}
Entry int8(const char* what, void (*spoil)(World&), std::vector<std::string> words) {
  return {what, Kind::int8, spoil, nullptr, std::move(words)};
}
Entry prefix(const char* what, void (*spoil)(World&), std::vector<std::string> words) {
  return {what, Kind::prefix, spoil, nullptr, std::move(words)};
}
Entry args(const char* what, void (*spoil)(World&, RunArgs&), std::vector<std::string> words) {
  return {what, Kind::paged, nullptr, spoil, std::move(words)};
}

std::vector<Entry> shape_entries() {
  return {
      paged("no query heads", [](World& w) { w.shape.q_heads = 0; }, {"q_heads", "0"}),
      paged("negative query heads", [](World& w) { w.shape.q_heads = -4; }, {"q_heads", "-4"}),
      paged("no KV heads", [](World& w) { w.shape.kv_heads = 0; }, {"kv_heads", "0"}),
      paged("negative KV heads", [](World& w) { w.shape.kv_heads = -2; }, {"kv_heads", "-2"}),
      paged("33 query heads on 2", [](World& w) { w.shape.q_heads = 33; },
            {"q_heads 33", "kv_heads 2"}),
      paged("no key dimension", [](World& w) { w.shape.head_dim_qk = 0; }, {"head_dim_qk", "0"}),
      paged("negative key dimension", [](World& w) { w.shape.head_dim_qk = -8; },
            {"head_dim_qk", "-8"}),
      paged("no value dimension", [](World& w) { w.shape.head_dim_v = 0; }, {"head_dim_v", "0"}),
      paged("negative value dimension", [](World& w) { w.shape.head_dim_v = -1; },
            {"head_dim_v", "-1"}),
      prefix("a prefix longer than K", [](World& w) { w.shape.head_dim_v = 9; },
             {"head_dim_v 9", "head_dim_qk 8", "v_is_k_prefix"}),
      paged("int8 queries", [](World& w) { w.shape.q_type = DType::i8; }, {"q_type", "i8"}),
      paged("negative softcap", [](World& w) { w.shape.softcap = -1.5F; }, {"softcap", "-1.5"}),
      paged("NaN softcap", [](World& w) { w.shape.softcap = kNaN; }, {"softcap", "nan"}),
      paged("infinite softcap", [](World& w) { w.shape.softcap = kInf; }, {"softcap", "inf"}),
      paged("NaN scale", [](World& w) { w.shape.scale = kNaN; }, {"scale", "nan"}),
      paged("infinite scale", [](World& w) { w.shape.scale = -kInf; }, {"scale", "-inf"}),
      paged("window_left", [](World& w) { w.shape.window_left = -2; }, {"window_left", "-2"}),
      paged("window_right", [](World& w) { w.shape.window_right = -7; }, {"window_right", "-7"}),
      paged("negative threads", [](World& w) { w.options.threads = -1; }, {"threads", "-1"}),
  };
}

std::vector<Entry> query_entries() {
  return {
      paged("q absent", [](World& w) { w.step.q = {}; }, {"q"}),
      paged("q rank", [](World& w) { w.step.q.rank = 2; }, {"q.rank", "2"}),
      paged("q type", [](World& w) { w.step.q.dtype = DType::bf16; }, {"q.dtype", "bf16", "f32"}),
      paged("q tokens", [](World& w) { w.step.q.sizes[0] = 4; }, {"q.sizes[0]", "4", "q_lens"}),
      paged("q heads", [](World& w) { w.step.q.sizes[1] = 5; }, {"q.sizes[1]", "5", "q_heads"}),
      paged("q dimension", [](World& w) { w.step.q.sizes[2] = 7; },
            {"q.sizes[2]", "7", "head_dim_qk"}),
      paged("q negative size", [](World& w) { w.step.q.sizes[1] = -4; }, {"q.sizes[1]", "-4"}),
      paged("q inner stride", [](World& w) { w.step.q.strides[2] = 2; }, {"q.strides[2]", "2"}),
      paged("q negative stride", [](World& w) { w.step.q.strides[0] = -32; },
            {"q.strides[0]", "-32"}),
      paged("q extent", [](World& w) { w.step.q.strides[0] = std::int64_t{1} << 62; }, {"q"}),
      paged("q elsewhere", [](World& w) { w.step.q.device = kGpu; }, {"device", "cuda:0"}),
      paged("q null", [](World& w) { w.step.q.data = nullptr; }, {"q.data", "null"}),
      paged("q unaligned", [](World& w) { shift_bytes(w.step.q, 2); }, {"q.data", "aligned"}),
  };
}

std::vector<Entry> output_entries() {
  return {
      paged("out absent", [](World& w) { w.step.out = {}; }, {"out"}),
      paged("out rank", [](World& w) { w.step.out.rank = 4; }, {"out.rank", "4"}),
      paged("out type", [](World& w) { w.step.out.dtype = DType::f16; }, {"out.dtype", "f16"}),
      paged("out tokens", [](World& w) { w.step.out.sizes[0] = 2; }, {"out.sizes[0]", "2"}),
      paged("out heads", [](World& w) { w.step.out.sizes[1] = 2; }, {"out.sizes[1]", "2"}),
      paged("out dimension", [](World& w) { w.step.out.sizes[2] = 4; },
            {"out.sizes[2]", "4", "head_dim_v"}),
      paged("out inner stride", [](World& w) { w.step.out.strides[2] = 3; },
            {"out.strides[2]", "3"}),
      paged("out tokens overlap", [](World& w) { w.step.out.strides[0] = 31; },
            {"out.strides", "31"}),
      paged("out heads overlap", [](World& w) { w.step.out.strides[1] = 0; }, {"out.strides"}),
      paged("out elsewhere", [](World& w) { w.step.out.device = kGpu; }, {"out.device", "cuda:0"}),
      paged("out null", [](World& w) { w.step.out.data = nullptr; }, {"out.data", "null"}),
      paged("out unaligned", [](World& w) { shift_bytes(w.step.out, 1); }, {"out.data", "aligned"}),
      paged("lse rank", [](World& w) { w.step.lse.rank = 3; }, {"lse.rank", "3"}),
      paged("lse type", [](World& w) { w.step.lse.dtype = DType::bf16; }, {"lse.dtype", "bf16"}),
      paged("lse tokens", [](World& w) { w.step.lse.sizes[0] = 9; }, {"lse.sizes[0]", "9"}),
      paged("lse heads", [](World& w) { w.step.lse.sizes[1] = 2; }, {"lse.sizes[1]", "2"}),
      paged("lse tokens overlap", [](World& w) { w.step.lse.strides[0] = 2; },
            {"lse.strides", "2"}),
      paged("lse elsewhere", [](World& w) { w.step.lse.device = kGpu; }, {"lse.device", "cuda:0"}),
      paged("lse null", [](World& w) { w.step.lse.data = nullptr; }, {"lse.data", "null"}),
      paged("lse unaligned", [](World& w) { shift_bytes(w.step.lse, 2); }, {"lse.data", "aligned"}),
  };
}

std::vector<Entry> length_entries() {
  return {
      paged("kv_lens short", [](World& w) { w.step.kv_lens = w.step.kv_lens.first(1); },
            {"kv_lens", "1", "q_lens", "2"}),
      paged("negative q_len", [](World& w) { w.q_lens[1] = -1; }, {"q_lens[1]", "-1"}),
      paged("negative kv_len", [](World& w) { w.kv_lens[1] = -3; }, {"kv_lens[1]", "-3"}),
      paged("q_lens sum", [](World& w) { w.q_lens[0] = 7; }, {"q.sizes[0]", "3", "8"}),
      paged("q_lens sum past 32 bits",
            [](World& w) {
              w.q_lens = {kMax32, kMax32};
            },
            {"q.sizes[0]", "4294967294"}),
      paged("q_start short",
            [](World& w) {
              w.lens = {0};
              w.step.q_start = w.lens;
            },
            {"q_start", "1", "2"}),
      paged("q_start overflows",
            [](World& w) {
              w.lens = {0, kMax32};
              w.step.q_start = w.lens;
            },
            {"q_start[1]", "2147483647"}),
      paged("a tree mask",
            [](World& w) {
              static const std::uint64_t bits = 1;
              w.step.tree_mask = &bits;
            },
            {"tree_mask"}),
      paged("device lengths on the CPU",
            [](World& w) { w.step.device_lengths.kv_lens = w.kv_lens.data(); }, {"device_lengths"}),
      packed("kv_start short", [](World& w) { w.step.kv_start = w.step.kv_start.first(1); },
             {"kv_start", "1", "2"}),
      packed("negative kv_start", [](World& w) { w.kv_start[0] = -1; }, {"kv_start[0]", "-1"}),
      packed("kv_start past the end", [](World& w) { w.kv_start[1] = 6; },
             {"kv_start[1]", "6", "packed_tokens", "45"}),
      packed("kv_start that wraps",
             [](World& w) { w.kv_start[1] = std::numeric_limits<std::int64_t>::max() - 3; },
             {"kv_start[1]", "packed_tokens"}),
      packed("negative packed_tokens", [](World& w) { w.step.packed_tokens = -1; },
             {"packed_tokens", "-1"}),
      packed("fewer tokens in K than the step says",
             [](World& w) { w.kv.k.sizes[0] = w.kv.v.sizes[0] = 44; }, {"k.sizes[0]", "44", "45"}),
  };
}

std::vector<Entry> table_entries() {
  return {
      paged("page size 0", [](World& w) { w.step.tables.page_size = 0; }, {"page_size", "0"}),
      paged("negative page size", [](World& w) { w.step.tables.page_size = -1; },
            {"page_size", "-1"}),
      paged("negative pool", [](World& w) { w.step.tables.pool_pages = -5; }, {"pool_pages", "-5"}),
      paged("too few columns", [](World& w) { w.step.tables.columns = 2; },
            {"columns", "2", "kv_lens[1]", "40", "3"}),
      paged("negative columns", [](World& w) { w.step.tables.columns = -1; }, {"columns", "-1"}),
      paged("three table heads", [](World& w) { w.step.tables.heads = 3; }, {"heads", "3"}),
      paged("no table heads", [](World& w) { w.step.tables.heads = 0; }, {"heads", "0"}),
      paged("no table", [](World& w) { w.step.tables.pages = nullptr; }, {"pages", "null"}),
      paged("table elsewhere", [](World& w) { w.step.tables.device = kGpu; },
            {"tables.device", "cuda:0"}),
      paged("negative row stride", [](World& w) { w.step.tables.request_stride = -3; },
            {"request_stride", "-3"}),
      paged("negative head stride",
            [](World& w) {
              w.step.tables.heads = 2;
              w.step.tables.head_stride = -1;
            },
            {"head_stride", "-1"}),
      paged("a page past the pool", [](World& w) { w.pages[5] = 40; },
            {"entry 2", "request 1", "40"}),
      paged("a page far past the pool", [](World& w) { w.pages[3] = kMax32; },
            {"entry 0", "request 1", "2147483647", "40"}),
      paged("a negative page", [](World& w) { w.pages[0] = -1; }, {"entry 0", "request 0", "-1"}),
      paged("a page in the second head's table",
            [](World& w) {
              w.pages = {7, 0, 0, 8, 0, 0, 3, 39, 0, 4, 5, 77};
              w.step.tables.pages = w.pages.data();
              w.step.tables.heads = 2;
              w.step.tables.head_stride = 3;
              w.step.tables.request_stride = 6;
            },
            {"entry 2", "request 1", "77", "40"}),
      paged("a negative position",
            [](World& w) {
              w.positions[4] = -16;
              w.step.tables.positions = w.positions.data();
            },
            {"position", "entry 1", "request 1", "-16"}),
      paged("slots past the last position",
            [](World& w) {
              w.positions[5] = kMax32 - 6;  // eight slots
              w.step.tables.positions = w.positions.data();
            },
            {"position", "entry 2", "request 1", "2147483641"}),
  };
}

std::vector<Entry> capacity_entries() {
  return {
      paged("few requests", [](World& w) { w.options.capacity.requests = 1; },
            {"capacity.requests", "1", "2"}),
      paged("few tokens", [](World& w) { w.options.capacity.tokens = 2; },
            {"capacity.tokens", "2", "3"}),
      paged("short requests", [](World& w) { w.options.capacity.q_len = 1; },
            {"capacity.q_len", "1", "2"}),
      paged("few keys", [](World& w) { w.options.capacity.kv_len = 39; },
            {"capacity.kv_len", "39", "40"}),
      paged("few pairs", [](World& w) { w.options.capacity.pairs = 39; },
            {"capacity.pairs", "39", "40"}),
      paged("negative capacity", [](World& w) { w.options.capacity.tokens = -1; },
            {"capacity.tokens", "-1"}),
  };
}

std::vector<Entry> kv_entries() {
  return {
      paged("K absent", [](World& w) { w.kv.k = {}; }, {"k"}),
      paged("K rank", [](World& w) { w.kv.k.rank = 3; }, {"k.rank", "3"}),
      paged("K type", [](World& w) { w.kv.k.dtype = DType::f16; }, {"k.dtype", "f16"}),
      paged("K heads", [](World& w) { w.kv.k.sizes[1] = 4; }, {"k.sizes[1]", "4", "kv_heads"}),
      paged("K dimension", [](World& w) { w.kv.k.sizes[3] = 4; },
            {"k.sizes[3]", "4", "head_dim_qk"}),
      paged("K page size", [](World& w) { w.kv.k.sizes[2] = w.kv.v.sizes[2] = 8; },
            {"k.sizes[2]", "8", "page_size", "16"}),
      paged("K smaller than the pool", [](World& w) { w.kv.k.sizes[0] = w.kv.v.sizes[0] = 39; },
            {"k.sizes[0]", "39", "pool_pages", "40"}),
      paged("K inner stride", [](World& w) { w.kv.k.strides[3] = 2; }, {"k.strides[3]", "2"}),
      paged("K negative stride", [](World& w) { w.kv.k.strides[0] = -1; }, {"k.strides[0]", "-1"}),
      paged("K null", [](World& w) { w.kv.k.data = nullptr; }, {"k.data", "null"}),
      paged("K unaligned", [](World& w) { shift_bytes(w.kv.k, 3); }, {"k.data", "aligned"}),
      paged("K elsewhere", [](World& w) { w.kv.k.device = kGpu; }, {"device", "cuda:0"}),
      paged("V absent", [](World& w) { w.kv.v = {}; }, {"v"}),
      paged("V type", [](World& w) { w.kv.v.dtype = DType::bf16; }, {"v.dtype", "bf16"}),
      paged("V pages", [](World& w) { w.kv.v.sizes[0] = 39; }, {"v.sizes[0]", "39", "40"}),
      paged("V heads", [](World& w) { w.kv.v.sizes[1] = 1; }, {"v.sizes[1]", "1"}),
      paged("V page size", [](World& w) { w.kv.v.sizes[2] = 15; }, {"v.sizes[2]", "15", "16"}),
      paged("V dimension", [](World& w) { w.kv.v.sizes[3] = 9; },
            {"v.sizes[3]", "9", "head_dim_v"}),
      paged("V inner stride", [](World& w) { w.kv.v.strides[3] = 4; }, {"v.strides[3]", "4"}),
      paged("V elsewhere", [](World& w) { w.kv.v.device = kGpu; }, {"v.device", "cuda:0"}),
      paged("V unaligned", [](World& w) { shift_bytes(w.kv.v, 2); }, {"v.data", "aligned"}),
      prefix("V beside a prefix", [](World& w) { w.kv.v = w.kv.k; }, {"v", "v_is_k_prefix"}),
      paged("scales of f32 keys",
            [](World& w) {
              w.kv.k_scale = dense(w.token_scales.data(), DType::f32, {kPoolPages, 2, kPage});
            },
            {"k_scale"}),
      int8("no scales of int8 keys", [](World& w) { w.kv.k_scale = {}; }, {"k_scale"}),
      int8("no scales of int8 values", [](World& w) { w.kv.v_scale = {}; }, {"v_scale"}),
      int8("scale type", [](World& w) { w.kv.k_scale.dtype = DType::f16; },
           {"k_scale.dtype", "f16"}),
      int8("scale rank", [](World& w) { w.kv.v_scale.rank = 2; }, {"v_scale.rank", "2"}),
      int8("scale pages", [](World& w) { w.kv.k_scale.sizes[0] = 39; }, {"k_scale.sizes[0]", "39"}),
      int8("scale heads", [](World& w) { w.kv.k_scale.sizes[1] = 1; }, {"k_scale.sizes[1]", "1"}),
      int8("scale page size", [](World& w) { w.kv.v_scale.sizes[2] = 8; },
           {"v_scale.sizes[2]", "8"}),
      int8("scale unaligned", [](World& w) { shift_bytes(w.kv.v_scale, 1); },
           {"v_scale.data", "aligned"}),
      int8("scale null", [](World& w) { w.kv.k_scale.data = nullptr; }, {"k_scale.data", "null"}),
      int8("scale elsewhere", [](World& w) { w.kv.k_scale.device = kGpu; },
           {"k_scale.device", "cuda:0"}),
  };
}

const Backend& another_backend(std::string_view than) {
  const Registry& registry = Registry::builtin();
  return registry.find(than == "reference" ? "standard" : "reference");
}

/// Binds other keys and values with the plan's backend.
void rebind(World& w, RunArgs& run, const AttentionShape& shape, const KvView& kv,
            KvLayout layout = KvLayout::paged) {
  w.other_binding = Registry::builtin().find(run.kv->backend()).bind(shape, kv, layout);
  run.kv = w.other_binding.get();
}

std::vector<Entry> run_entries() {
  return {
      args("no K and V", [](World&, RunArgs& run) { run.kv = nullptr; }, {"kv", "null"}),
      args("K and V bound by another backend",
           [](World& w, RunArgs& run) {
             w.other_binding =
                 another_backend(run.kv->backend()).bind(w.shape, w.kv, KvLayout::paged);
             run.kv = w.other_binding.get();
           },
           {"kv", "reference"}),
      args("packed K and V",
           [](World& w, RunArgs& run) {
             KvView kv;
             kv.k = kv.v = dense(w.numbers.data(), DType::f32, {45, 2, kDim});
             rebind(w, run, w.shape, kv, KvLayout::packed);
           },
           {"kv", "packed"}),
      args("a pool of fewer pages",
           [](World& w, RunArgs& run) {
             KvView kv;
             kv.k = kv.v = dense(w.numbers.data(), DType::f32, {12, 2, kPage, kDim});
             rebind(w, run, w.shape, kv);
           },
           {"k.sizes[0]", "12", "40"}),
      args("int8 keys for an f32 plan",
           [](World& w, RunArgs& run) {
             World other(DType::i8);
             rebind(w, run, other.shape, other.kv);
           },
           {"k.dtype", "i8", "f32"}),
      args("values of another dimension",
           [](World& w, RunArgs& run) {
             AttentionShape shape = w.shape;
             shape.head_dim_v = 4;
             KvView kv = w.kv;
             kv.v.sizes[3] = 4;
             rebind(w, run, shape, kv);
           },
           {"v.sizes[3]", "4", "head_dim_v", "8"}),
      args("keys alone for a plan that wants values",
           [](World& w, RunArgs& run) {
             AttentionShape shape = w.shape;
             shape.v_is_k_prefix = true;
             rebind(w, run, shape, {.k = w.kv.k, .v = {}, .k_scale = {}, .v_scale = {}});
           },
           {"v"}),
      args("no sinks", [](World&, RunArgs& run) { run.sinks = nullptr; }, {"sinks", "null"}),
      args(
          "unaligned workspace",
          [](World&, RunArgs& run) { run.workspace = static_cast<std::byte*>(run.workspace) + 32; },
          {"workspace", "aligned", "64"}),
      args("unaligned q",
           [](World& w, RunArgs& run) {
             run.q = reinterpret_cast<const std::byte*>(w.numbers.data()) + 1;
           },
           {"q", "aligned"}),
      args("unaligned out",
           [](World& w, RunArgs& run) {
             run.out = reinterpret_cast<std::byte*>(w.outputs.data()) + 2;
           },
           {"out", "aligned"}),
      args("unaligned lse",
           [](World& w, RunArgs& run) {
             run.lse = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(w.lses.data()) + 1);
           },
           {"lse", "aligned"}),
  };
}

void share(World& w, std::int32_t tokens) {
  w.lens = {5, tokens};
  w.step.prefix_group = w.prefix_group;
  w.step.prefix_tokens = w.lens;
}

std::vector<Entry> shared_prefix_entries() {
  return {
      paged("no prefix_tokens", [](World& w) { w.step.prefix_group = w.prefix_group; },
            {"prefix_tokens", "0", "2"}),
      paged("prefix_group short",
            [](World& w) {
              w.step.prefix_group = {w.lens.data(), 1};
            },
            {"prefix_group", "1", "2"}),
      paged("negative prefix", [](World& w) { share(w, -1); }, {"prefix_tokens[1]", "-1"}),
      paged("prefix past the keys", [](World& w) { share(w, 41); }, {"prefix_tokens[1]", "41"}),
      paged("pages that differ", [](World& w) { share(w, 1); }, {"request 1", "page 3", "page 7"}),
      packed("keys that differ", [](World& w) { share(w, 1); }, {"kv_start[1]", "5"}),
  };
}

}  // namespace

std::vector<Entry> all_entries() {
  std::vector<Entry> all;
  for (auto part :
       {shape_entries(), query_entries(), output_entries(), length_entries(), table_entries(),
        capacity_entries(), kv_entries(), run_entries(), shared_prefix_entries()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace headwise::bad_input
