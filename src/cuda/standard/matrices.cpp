#include "cuda/standard/matrices.h"

#include <algorithm>

#include "attention/mask.h"

namespace headwise::cuda::standard {
namespace {

/// Hands out consecutive pieces of memory.
class Pieces {
 public:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t begin = end_;
    end_ += aligned(bytes);
    return begin;
  }
  std::int64_t end() const { return end_; }

  static std::int64_t aligned(std::int64_t bytes) {
    constexpr std::int64_t kAlignment = WorkspaceSizes::kAlignment;
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  std::int64_t end_ = 0;
};

std::int64_t padded_dim(std::int64_t dim) { return (dim + 7) / 8 * 8; }

/// Bytes of one token's rows without S and P, and of one token and key of S and P.
struct RowCosts {
  std::int64_t token = 0;
  std::int64_t pair = 0;

  explicit RowCosts(const Matrices& m) {
    const std::int64_t heads = m.kv_heads * m.group;
    const bool in_place = m.types.values == DType::f32;
    token = heads * (m.dim_qk * size_of(m.types.scores) + (m.dim_v + 1) * size_of(DType::f32));
    pair = heads * (size_of(DType::f32) + (in_place ? 0 : size_of(m.types.values)));
  }
};

constexpr std::int64_t kRowSlack = 5 * WorkspaceSizes::kAlignment;  ///< RowBuffers rounds five up

/// Kernels have a block a row, and rows of all heads in one grid.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

/// Elements of one KV head's S: what 32 bits count, lest a library's kernel count so.
constexpr std::int64_t kMaxScores = (std::int64_t{1} << 31) - 1;

std::int64_t max_tokens(const Matrices& m, std::int64_t columns, std::int64_t row_bytes) {
  const RowCosts costs(m);
  const std::int64_t fit = (row_bytes - kRowSlack) / (costs.token + columns * costs.pair);
  const std::int64_t scores = kMaxScores / (m.group * std::max<std::int64_t>(columns, 1));
  const std::int64_t tokens = std::min({fit, scores, kMaxRows / (m.kv_heads * m.group)});
  return std::max<std::int64_t>(tokens, 1);
}

/// Slots begin ... end - 1 that rows `token` ... `token + tokens - 1` of the request see.
struct Slots {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Slots slots_seen(const AttentionShape& shape, const RequestRows& request, std::int64_t token,
                 std::int64_t tokens) {
  const std::int64_t kv_len = request.kv_len;
  if (!request.slots_known) return {0, kv_len};
  const std::int64_t first = request.q_start + token;
  const headwise::PositionRange seen = Mask(shape).seen_from({first, first + tokens - 1});
  const std::int64_t begin = std::clamp(seen.first, std::int64_t{0}, kv_len);
  const std::int64_t end = std::clamp(seen.last + 1, begin, kv_len);
  return {begin, end};
}

}  // namespace

ProductTypes product_types(const AttentionShape& shape) {
  const DType q = shape.q_type;
  const DType kv = shape.kv_type;
  const auto either = [&](DType type) { return q == type || kv == type; };
  if (either(DType::f32) || (either(DType::f16) && either(DType::bf16))) return {};
  const DType narrow = either(DType::f16) ? DType::f16 : DType::bf16;
  return {narrow, kv == DType::i8 ? DType::f32 : narrow};
}

Matrices::Matrices(const Problem& problem)
    : types(product_types(problem.shape)),
      kv_heads(problem.shape.kv_heads),
      group(problem.shape.group_size()),
      dim_qk(padded_dim(problem.shape.head_dim_qk)),
      dim_v(padded_dim(problem.shape.head_dim_v)),
      v_in_k(problem.shape.v_is_k_prefix && types.scores == types.values),
      token_scales(problem.shape.kv_type == DType::i8),
      position_rows(!problem.picked_pages        ? 0
                    : problem.tables_per_kv_head ? kv_heads
                                                 : 1) {}

KeyBuffers::KeyBuffers(const Matrices& m, std::int64_t columns) {
  Pieces pieces;
  const std::int64_t keys = m.kv_heads * columns;
  k = pieces.take(keys * m.dim_qk * size_of(m.types.scores));
  v = m.v_in_k ? k : pieces.take(keys * m.dim_v * size_of(m.types.values));
  k_scale = pieces.take(m.token_scales ? keys * size_of(DType::f32) : 0);
  v_scale = pieces.take(m.token_scales ? keys * size_of(DType::f32) : 0);
  positions =
      pieces.take(m.position_rows * columns * static_cast<std::int64_t>(sizeof(std::int32_t)));
  end = pieces.end();
}

RowBuffers::RowBuffers(const Matrices& m, std::int64_t tokens, std::int64_t columns) {
  Pieces pieces;
  const std::int64_t rows = m.kv_heads * tokens * m.group;
  q = pieces.take(rows * m.dim_qk * size_of(m.types.scores));
  s = pieces.take(rows * columns * size_of(DType::f32));
  p = m.types.values == DType::f32 ? s : pieces.take(rows * columns * size_of(m.types.values));
  o = pieces.take(rows * m.dim_v * size_of(DType::f32));
  weights = pieces.take(rows * size_of(DType::f32));
  end = pieces.end();
}

WorkspaceSizes::WorkspaceSizes(const Matrices& m, const Capacity& capacity, std::int64_t budget) {
  const RowCosts costs(m);
  const std::int64_t columns = Matrices::padded_keys(capacity.kv_len);
  const std::int64_t pairs = capacity.pairs + capacity.q_len * (Matrices::kKeyBlock - 1);
  const double whole = static_cast<double>(capacity.q_len) * static_cast<double>(costs.token) +
                       static_cast<double>(pairs) * static_cast<double>(costs.pair);
  const bool fits = whole <= static_cast<double>(budget);  // whole may pass 2^63
  const std::int64_t one_token = costs.token + columns * costs.pair;
  keys = KeyBuffers(m, columns).end;
  rows = Pieces::aligned(std::max(fits ? static_cast<std::int64_t>(whole) : budget, one_token) +
                         kRowSlack);
}

RequestChunks chunks_of(const Matrices& m, const AttentionShape& shape, const RequestRows& request,
                        std::int64_t row_bytes) {
  const Slots all = slots_seen(shape, request, 0, request.q_len);
  RequestChunks result{.first_slot = all.begin,
                       .columns = Matrices::padded_keys(all.end - all.begin)};
  const std::int64_t q_len = request.q_len;
  const std::int64_t limit = max_tokens(m, result.columns, row_bytes);
  const std::int64_t count = (q_len + limit - 1) / limit;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t token = q_len * i / count;
    const std::int64_t tokens = q_len * (i + 1) / count - token;
    const Slots slots = slots_seen(shape, request, token, tokens);
    Chunk chunk{.token = token, .tokens = tokens};
    if (slots.end > slots.begin) {
      chunk.column = (slots.begin - all.begin) / Matrices::kKeyBlock * Matrices::kKeyBlock;
      chunk.columns = Matrices::padded_keys(slots.end - all.begin) - chunk.column;
    }
    result.chunks.push_back(chunk);
  }
  return result;
}

}  // namespace headwise::cuda::standard
