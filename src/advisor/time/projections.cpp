#include "advisor/time/projections.h"

#include <algorithm>

namespace headwise {
namespace {

struct Projections {
  std::int64_t hidden;
  const ProjectionRows& rows;

  std::int64_t out_width(std::int64_t width) const {
    return std::max<std::int64_t>(1, width / rows.out_split);
  }

  std::vector<Product> operator()(const SoftmaxAttention& softmax) const {
    const std::int64_t out = softmax.q_heads * softmax.head_dim_v;
    const std::int64_t in = softmax.q_heads * softmax.head_dim_qk + softmax.kv_columns() +
                            (softmax.output_gate ? out : 0);
    return {{.m = rows.tokens, .n = in, .k = hidden},
            {.m = rows.tokens, .n = hidden, .k = out_width(out)}};
  }

  std::vector<Product> operator()(const LatentAttention& latent) const {
    const std::int64_t queries = latent.q_heads * latent.head_dim_qk();
    const std::int64_t out = latent.q_heads * latent.v_head_dim;
    const std::int64_t down = latent.stored_dim() +
                              (latent.q_lora_rank > 0 ? latent.q_lora_rank : queries) +
                              (latent.output_gate ? out : 0);
    std::vector<Product> products{{.m = rows.tokens, .n = down, .k = hidden}};
    if (latent.q_lora_rank > 0)
      products.push_back({.m = rows.tokens, .n = queries, .k = latent.q_lora_rank});
    products.push_back({.m = rows.expanded,
                        .n = latent.q_heads * (latent.qk_nope_head_dim + latent.v_head_dim),
                        .k = latent.kv_lora_rank});
    products.push_back({.m = rows.tokens, .n = hidden, .k = out_width(out)});
    if (latent.indexer) {
      const SparseIndexer& indexer = *latent.indexer;
      const std::int64_t query = latent.q_lora_rank > 0 ? latent.q_lora_rank : hidden;
      products.push_back({.m = rows.tokens, .n = indexer.heads * indexer.head_dim, .k = query});
      products.push_back({.m = rows.tokens, .n = indexer.head_dim + indexer.heads, .k = hidden});
    }
    return products;
  }

  std::vector<Product> operator()(const LinearAttention& linear) const {
    const std::int64_t keys = linear.k_heads * linear.k_head_dim;
    const std::int64_t values = linear.v_heads * linear.v_head_dim;
    const std::int64_t rank = linear.v_head_dim;
    const bool low_rank_decay = linear.decay == StateDecay::per_channel;
    const std::int64_t in = linear.conv_channels() + linear.v_heads +  // and the step size
                            (linear.low_rank_gate ? rank : values) +
                            (low_rank_decay ? rank : linear.v_heads);
    const std::int64_t up = (linear.low_rank_gate ? values : 0) + (low_rank_decay ? keys : 0);
    std::vector<Product> products{{.m = rows.tokens, .n = in, .k = hidden}};
    if (up > 0) products.push_back({.m = rows.tokens, .n = up, .k = rank});
    products.push_back({.m = rows.tokens, .n = hidden, .k = out_width(values)});
    return products;
  }
};

}  // namespace

std::vector<Product> attention_projections(const Attention& attention, std::int64_t hidden,
                                           const ProjectionRows& rows,
                                           const Deployment& deployment) {
  std::vector<Product> products =
      std::visit(Projections{hidden, rows}, sharded(attention, deployment.tp));
  for (Product& product : products) product.weights = deployment.projections;
  if (deployment.stored && std::holds_alternative<SoftmaxAttention>(attention)) {
    products.front().stored = deployment.stored->qkv;
    products.back().stored = deployment.stored->attention_output;
  }
  return products;
}

}  // namespace headwise
