#include "cuda/sm90/mapped_keys.h"

#include <cstdint>
#include <numeric>

#include "cuda/sm90/encode_map.h"

namespace headwise::cuda::sm90 {
namespace {

constexpr std::int64_t kMostTokens = 64;  // of a box; tiles are multiples of it

/// Of dimension, token, KV head, page; a box is 128 bytes of `box` tokens.
CUtensorMap map_of(const TensorView& view, const KvTensor& tensor, KvLayout layout, int dim,
                   int box) {
  const bool paged = layout == KvLayout::paged;
  return encode_map(
      {.data = tensor.data,
       .dtype = view.dtype,
       .sizes = {dim, view.sizes[paged ? 2 : 0], view.sizes[1], paged ? view.sizes[0] : 1},
       .strides = {tensor.token, tensor.head, tensor.page},
       .box = {box, 1}});
}

}  // namespace

int box_tokens(std::int64_t page_size) {
  return static_cast<int>(std::gcd(page_size, kMostTokens));
}

MappedKeys::MappedKeys(std::string_view backend, const AttentionShape& shape, KvLayout layout,
                       const KvView& view)
    : KvTensors(backend, shape, layout, view) {
  const int tokens =
      layout == KvLayout::paged ? box_tokens(view.k.sizes[2]) : static_cast<int>(kMostTokens);
  if (!chunks() || tokens < 8 || view.k.sizes[0] == 0) return;
  maps_.k = map_of(view.k, k(), layout, shape.head_dim_qk, tokens);
  maps_.v = map_of(shape.v_is_k_prefix ? view.k : view.v, v(), layout, shape.head_dim_v, tokens);
  maps_.box_tokens = tokens;
}

}  // namespace headwise::cuda::sm90
