#include "ops/bf16_product.h"

#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/aligned_memory.h"
#include "core/signals_held.h"
#include "ops/bf16_rows.h"

namespace headwise {
namespace {

using dnnl::memory;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

constexpr std::int64_t kLayoutRows = 512;  // of x, for which the layout of w is chosen
constexpr std::int64_t kEvenRows = 32;
constexpr std::size_t kMostShapes = 64;  // numbers of rows whose primitives are kept

/// How many of `rows` rows of x to multiply together. oneDNN 2.6 is slow with some numbers, those
/// that are 53, 59 or 61 times another above all: 424 rows take four times as long as 416 and 8.
std::int64_t rows_at_once(std::int64_t rows) {
  if (rows <= kEvenRows) return rows;
  return std::min(rows - rows % kEvenRows, kLayoutRows);
}

memory::desc matrix(std::int64_t rows, std::int64_t columns, memory::data_type type,
                    std::int64_t stride) {
  return {{rows, columns}, type, memory::dims{stride, 1}};
}

dnnl::matmul::primitive_desc product(const memory::desc& x, const memory::desc& w,
                                     const memory::desc& y, Into into) {
  dnnl::primitive_attr attributes;
  if (into == Into::add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  return {dnnl::matmul::desc(x, w, y), attributes, cpu()};
}

/// The parts as bf16, dense.
AlignedBytes rounded(std::span<const StoredRows> parts, std::int64_t rows) {
  const std::int64_t columns = parts.front().columns;
  AlignedBytes bytes = allocate_aligned(rows * columns * 2);
  auto* target = reinterpret_cast<std::uint16_t*>(bytes.get());
  for (const StoredRows& part : parts) {
#pragma omp parallel
    {
      std::vector<float> row(static_cast<std::size_t>(columns));
#pragma omp for
      for (std::int64_t i = 0; i < part.rows; ++i) {
        dequantise(part.format, {part.row(i), static_cast<std::size_t>(part.row_bytes())}, row);
        round_to_bf16(row.data(), target + i * columns, columns);
      }
    }
    target += part.rows * columns;
  }
  return bytes;
}

}  // namespace

struct Bf16Product::Packed {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  memory weights;
  std::unordered_map<std::int64_t, dnnl::matmul> by_shape;  // (rows of x, y's stride, into)

  const dnnl::matmul& primitive(std::int64_t x_rows, std::int64_t y_stride, Into into);
};

Bf16Product::Bf16Product(std::span<const StoredRows> parts) : packed_(std::make_unique<Packed>()) {
  Packed& packed = *packed_;
  packed.columns = parts.front().columns;
  for (const StoredRows& part : parts) packed.rows += part.rows;
  const std::int64_t n = packed.rows;
  const std::int64_t k = packed.columns;
  const SignalsHeld held;
  const memory::desc any({k, n}, memory::data_type::bf16, memory::format_tag::any);
  const auto wanted = product(matrix(kLayoutRows, k, memory::data_type::bf16, k), any,
                              matrix(kLayoutRows, n, memory::data_type::f32, n), Into::overwrite);
  const AlignedBytes dense = rounded(parts, n);
  memory plain({{k, n}, memory::data_type::bf16, memory::dims{1, k}}, cpu(), dense.get());
  packed.weights = memory(wanted.weights_desc(), cpu());
  dnnl::stream stream(cpu());
  dnnl::reorder(plain, packed.weights).execute(stream, plain, packed.weights);
  stream.wait();
}

Bf16Product::~Bf16Product() = default;

namespace {

/// x as bf16, until the thread's next call. One buffer serves all matrices, one after another: a
/// model's would be a hundred megabytes, touched for the first time while somebody waits.
std::uint16_t* rounded(const Rows<const float>& x) {
  thread_local AlignedBytes buffer;
  thread_local std::int64_t size = 0;
  const std::int64_t bytes = x.count * x.width * 2;
  if (bytes > size) {
    buffer = allocate_aligned(bytes);
    size = bytes;
  }
  auto* target = reinterpret_cast<std::uint16_t*>(buffer.get());
#pragma omp parallel for
  for (std::int64_t row = 0; row < x.count; ++row)
    round_to_bf16(x[row], target + row * x.width, x.width);
  return target;
}

}  // namespace

/// Making one takes up to a millisecond, so that they are kept.
const dnnl::matmul& Bf16Product::Packed::primitive(std::int64_t x_rows, std::int64_t y_stride,
                                                   Into into) {
  const std::int64_t key = (x_rows * (std::int64_t{1} << 32) + y_stride) * 2 + (into == Into::add);
  const auto found = by_shape.find(key);
  if (found != by_shape.end()) return found->second;
  if (by_shape.size() >= kMostShapes) by_shape.clear();
  const auto desc =
      product(matrix(x_rows, columns, memory::data_type::bf16, columns), weights.get_desc(),
              matrix(x_rows, rows, memory::data_type::f32, y_stride), into);
  return by_shape.emplace(key, dnnl::matmul(desc)).first->second;
}

void Bf16Product::run(const Rows<const float>& x, const Rows<float>& y, Into into) {
  Packed& packed = *packed_;
  check(x.width == packed.columns, "w has rows of ", packed.columns, " elements, x of ", x.width);
  check(y.count == x.count && y.width == packed.rows, "y is [", y.count, ", ", y.width,
        "], must be [", x.count, ", ", packed.rows, "]");
  if (x.count == 0) return;
  std::uint16_t* const rounded_x = rounded(x);
  const SignalsHeld held;
  dnnl::stream stream(cpu());
  for (std::int64_t first = 0, count = 0; first < x.count; first += count) {
    count = rows_at_once(x.count - first);
    const dnnl::matmul& matmul = packed.primitive(count, y.stride, into);
    memory input(matrix(count, packed.columns, memory::data_type::bf16, packed.columns), cpu(),
                 rounded_x + first * packed.columns);
    memory output(matrix(count, packed.rows, memory::data_type::f32, y.stride), cpu(), y[first]);
    matmul.execute(
        stream,
        {{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, packed.weights}, {DNNL_ARG_DST, output}});
  }
  stream.wait();
}

}  // namespace headwise
