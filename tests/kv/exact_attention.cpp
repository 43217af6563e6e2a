#include "tests/kv/exact_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "tests/conformance/plain_numbers.h"

namespace headwise {
namespace {

double number_at(const void* data, DType type, std::int64_t element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + element * size_of(type),
              std::size_t(size_of(type)));
  if (type == DType::i8) return static_cast<std::int8_t>(bits);
  return conformance::plain_value(type, bits);
}

double scale_of(const float* scales, const AttentionShape& shape, int head) {
  if (scales == nullptr) return 1.0;
  return scales[shape.fp8_scale == ScaleGranularity::kv_head ? head : 0];
}

double token_scale(const TensorView& scales, std::int64_t page, int head, std::int64_t slot) {
  if (!scales) return 1.0;
  return number_at(scales.data, DType::f32,
                   page * scales.strides[0] + head * scales.strides[1] + slot * scales.strides[2]);
}

bool is_seen(const AttentionShape& shape, std::int64_t from, std::int64_t key) {
  return (shape.window_left < 0 || key >= from - shape.window_left) &&
         (shape.window_right < 0 || key <= from + shape.window_right);
}

/// One query head of one row; `out` is head_dim_v zeros. Returns the LSE.
double attend_row(const AttentionShape& shape, const double* q, std::int64_t position,
                  const ExactKeys& keys, double* out) {
  const auto dim = std::size_t(shape.head_dim_qk);
  const auto dim_v = std::size_t(shape.head_dim_v);
  std::vector<double> logits(keys.positions.size(), -std::numeric_limits<double>::infinity());
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (!is_seen(shape, position, keys.positions[j])) continue;
    double sum = 0.0;
    for (std::size_t i = 0; i < dim; ++i) sum += q[i] * keys.k[j * dim + i];
    logits[j] = sum / std::sqrt(double(shape.head_dim_qk));
    top = std::max(top, logits[j]);
  }
  if (top == -std::numeric_limits<double>::infinity()) return top;
  double total = 0.0;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double weight = std::exp(logits[j] - top);
    if (weight == 0.0) continue;
    total += weight;
    for (std::size_t i = 0; i < dim_v; ++i) out[i] += weight * keys.v[j * dim_v + i];
  }
  for (std::size_t i = 0; i < dim_v; ++i) out[i] /= total;
  return top + std::log(total);
}

}  // namespace

std::vector<double> stored_row(const TensorView& view, std::int64_t page, int head,
                               std::int64_t slot, int dim, double scale) {
  const std::int64_t first =
      page * view.strides[0] + head * view.strides[1] + slot * view.strides[2];
  std::vector<double> row;
  for (int i = 0; i < dim; ++i) row.push_back(number_at(view.data, view.dtype, first + i) * scale);
  return row;
}

ExactKeys load_keys(const AttentionShape& shape, const StoredKeys& stored,
                    std::span<const std::int32_t> entries, int head) {
  ExactKeys keys;
  const KvView& kv = stored.kv;
  for (const std::int32_t entry : entries) {
    const std::int64_t page = stored.table[entry];
    const std::int64_t first = std::int64_t{entry} * stored.page_size;
    const std::int64_t end = std::min<std::int64_t>(first + stored.page_size, stored.kv_len);
    for (std::int64_t at = first; at < end; ++at) {
      const std::int64_t slot = at - first;
      const double k_scale =
          scale_of(stored.scales.k_scale, shape, head) * token_scale(kv.k_scale, page, head, slot);
      const double v_scale =
          scale_of(stored.scales.v_scale, shape, head) * token_scale(kv.v_scale, page, head, slot);
      const auto k = stored_row(kv.k, page, head, slot, shape.head_dim_qk, k_scale);
      const auto v = shape.v_is_k_prefix
                         ? std::vector(k.begin(), k.begin() + shape.head_dim_v)
                         : stored_row(kv.v, page, head, slot, shape.head_dim_v, v_scale);
      keys.positions.push_back(at);
      keys.k.insert(keys.k.end(), k.begin(), k.end());
      keys.v.insert(keys.v.end(), v.begin(), v.end());
    }
  }
  return keys;
}

ExactKeys load_keys(const AttentionShape& shape, const StoredKeys& stored, int kv_head) {
  std::vector<std::int32_t> entries;
  for (std::int32_t entry = 0; entry * stored.page_size < stored.kv_len; ++entry)
    if (stored.table[entry] >= 0) entries.push_back(entry);
  return load_keys(shape, stored, entries, kv_head);
}

ExactAnswer exact_attention(const AttentionShape& shape, std::span<const double> q, int q_len,
                            std::int64_t q_start, const std::vector<ExactKeys>& keys) {
  ExactAnswer answer;
  const auto dim_v = std::size_t(shape.head_dim_v);
  answer.out.resize(std::size_t(q_len) * std::size_t(shape.q_heads) * dim_v);
  for (int row = 0; row < q_len; ++row)
    for (int head = 0; head < shape.q_heads; ++head) {
      const auto at = std::size_t(row * shape.q_heads + head);
      answer.lse.push_back(attend_row(shape, q.data() + at * std::size_t(shape.head_dim_qk),
                                      q_start + row, keys[std::size_t(head / shape.group_size())],
                                      answer.out.data() + at * dim_v));
    }
  return answer;
}

std::vector<double> decoded(const void* data, DType type, std::size_t count) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(number_at(data, type, std::int64_t(i)));
  return numbers;
}

double relative_error(std::span<const double> got, std::span<const double> exact) {
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (got[i] - exact[i]) * (got[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return error == 0.0 ? 0.0 : std::sqrt(error / norm);
}

double pair_bound(const AttentionShape& shape) {
  const auto of = [](DType type) {
    return type == DType::f32 ? 5e-6 : type == DType::f16 ? 6e-4 : 5e-3;
  };
  return std::max(of(shape.q_type), of(shape.kv_type));
}

std::string fault_of(const AttentionShape& shape, const AttentionAnswer& answer, std::int64_t token,
                     const ExactAnswer& exact) {
  std::ostringstream fault;
  const std::int64_t first = token * shape.q_heads * shape.head_dim_v;
  const auto out = decoded(answer.out.data() + first * size_of(shape.out_type()), shape.out_type(),
                           exact.out.size());
  const double bound = pair_bound(shape);
  const double error = relative_error(out, exact.out);
  if (!(error <= bound)) fault << "out is off by " << error << " of " << bound << "; ";
  const double most = bound == 5e-6 ? 1e-5 : 2.0 * bound;
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    const double got = answer.lse[std::size_t(token * shape.q_heads) + i];
    if (got == exact.lse[i]) continue;
    if (std::fabs(got - exact.lse[i]) <= most + 0x1p-22 * std::fabs(exact.lse[i])) continue;
    fault << "lse " << i << " is " << got << ", not " << exact.lse[i] << "; ";
    break;
  }
  return fault.str();
}

}  // namespace headwise
