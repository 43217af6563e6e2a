// What a cache stores of each format, and attention over it: within the definition's bounds of what
// is stored, and near what was appended.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "headwise/error.h"
#include "headwise/kv_calibration.h"
#include "headwise/registry.h"
#include "tests/conformance/plain_numbers.h"
#include "tests/conformance/random.h"
#include "tests/kv/attention_run.h"
#include "tests/kv/exact_attention.h"
#include "tests/kv/new_rows.h"
#include "tests/kv/token_numbers.h"

namespace headwise {
namespace {

constexpr int kLayers = 2;
constexpr int kPageSize = 8;

const Backend& writer() { return Registry::builtin().find("cpu-portable"); }

struct Format {
  DType q_type, kv_type;
  ScaleGranularity scale = ScaleGranularity::tensor;
  bool is_calibrated = false;  // or the scales are given
};

LayerGroup group_of(const Format& f) {
  return {.shape = {.q_heads = 6,
                    .kv_heads = 3,
                    .head_dim_qk = 64,
                    .head_dim_v = 32,
                    .q_type = f.q_type,
                    .kv_type = f.kv_type,
                    .fp8_scale = f.scale},
          .layers = kLayers};
}

KvCacheOptions options_of(const LayerGroup& group) {
  KvCacheOptions options;
  options.groups = {{.group = group, .pages = 24}};
  options.page_size = kPageSize;
  options.max_sequences = 4;
  options.max_tokens = 80;
  return options;
}

/// One that saw every number of rows_of, or nearly.
KvCalibration calibration_of(const LayerGroup& group) {
  KvCalibration calibration(group);
  TokenText text;
  for (int i = 0; i < 300; ++i) text.push(i);
  for (int layer = 0; layer < group.layers; ++layer) {
    const NewRows rows = rows_of(group.shape, layer, text.pasts());
    calibration.observe(layer, rows.k_view(group.shape), rows.v_view(group.shape));
  }
  return calibration;
}

/// Two sequences that part ways within a page, in a cache of one group.
class FormatRun {
 public:
  explicit FormatRun(const Format& f) : group_(group_of(f)), cache_(options_of(group_)) {
    if (f.kv_type != DType::f8e4m3) return;
    if (f.is_calibrated) {
      calibration_of(group_).apply(cache_, 0);
      return;
    }
    const auto count = f.scale == ScaleGranularity::tensor ? 1U : 3U;
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<float> k(count, 2.5F / 448), v(count, 11.0F / 448);
      k.back() *= 1.5F;  // heads have scales of their own
      cache_.set_scales(0, layer, k, v);
    }
  }

  void run() {
    ids_ = {cache_.create()};
    texts_.resize(1);
    step({37});
    ids_.push_back(cache_.fork(ids_[0]));
    texts_.push_back(texts_[0]);
    step({5, 9});
    step({1, 1});
    step({0, 17});
  }

  /// The worst of the answers, against attention over what was appended.
  double worst_against_appended() const { return worst_; }
  int answers() const { return answers_; }

 private:
  const AttentionShape& shape() const { return group_.shape; }

  void step(const std::vector<std::int32_t>& counts) {
    std::vector<KvRequest> requests;
    std::vector<std::uint64_t> fresh;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      for (int i = 0; i < counts[r]; ++i) texts_[r].push(std::int32_t(rng_.below(50)));
      requests.push_back({.sequence = ids_[r], .new_tokens = counts[r]});
      const auto pasts = texts_[r].pasts().last(std::size_t(counts[r]));
      fresh.insert(fresh.end(), pasts.begin(), pasts.end());
    }
    KvStep open = cache_.begin(requests);
    for (int layer = 0; layer < kLayers; ++layer) {
      const NewRows rows = rows_of(shape(), layer, fresh);
      open.append_kv(writer(), 0, layer, rows.k_view(shape()), rows.v_view(shape()));
      judge(open, layer, std::int64_t(fresh.size()));
    }
    open.commit();
  }

  void judge(const KvStep& open, int layer, std::int64_t tokens) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < tokens * shape().q_heads * shape().head_dim_qk; ++i)
      numbers.push_back(float(rng_.uniform(-1.0, 1.0)));
    const StoredRows q(shape().q_type, numbers, {tokens, shape().q_heads, shape().head_dim_qk});
    StepBatch step;
    step.q = q.view();
    open.describe(0, step);
    const RunArgs scales = scales_of(cache_, 0, layer);
    std::vector<AttentionAnswer> answers;
    for (const Backend* backend : cpu_backends())
      if (auto answer = attend(*backend, shape(), step, cache_.layer(0, layer), scales))
        answers.push_back(std::move(*answer));
    EXPECT_FALSE(answers.empty());
    for (std::int64_t r = 0, token = 0; r < step.requests(); token += step.q_lens[r++])
      if (step.q_lens[r] > 0) judge(step, layer, r, token, answers);
  }

  void judge(const StepBatch& step, int layer, std::int64_t r, std::int64_t token,
             const std::vector<AttentionAnswer>& answers) {
    const std::int32_t q_len = step.q_lens[r];
    const std::int32_t kv_len = step.kv_lens[r];
    const std::int64_t q_row = std::int64_t{shape().q_heads} * shape().head_dim_qk;
    const auto q = decoded(
        static_cast<const std::byte*>(step.q.data) + token * q_row * size_of(shape().q_type),
        shape().q_type, std::size_t(q_len * q_row));
    const StoredKeys stored{.kv = cache_.layer(0, layer),
                            .scales = scales_of(cache_, 0, layer),
                            .page_size = kPageSize,
                            .table = step.tables.pages + r * step.tables.request_stride,
                            .kv_len = kv_len};
    std::vector<ExactKeys> keys;
    for (int head = 0; head < shape().kv_heads; ++head)
      keys.push_back(load_keys(shape(), stored, head));
    const ExactAnswer exact = exact_attention(shape(), q, q_len, kv_len - q_len, keys);
    const ExactAnswer appended = exact_attention(shape(), q, q_len, kv_len - q_len,
                                                 appended_keys(texts_[std::size_t(r)], layer));
    for (const AttentionAnswer& answer : answers) {
      EXPECT_EQ(fault_of(shape(), answer, token, exact), "") << answer.row;
      const std::int64_t first = token * shape().q_heads * shape().head_dim_v;
      const auto out = decoded(answer.out.data() + first * size_of(shape().out_type()),
                               shape().out_type(), exact.out.size());
      worst_ = std::max(worst_, relative_error(out, appended.out));
      ++answers_;
    }
  }

  std::vector<ExactKeys> appended_keys(const TokenText& text, int layer) const {
    const NewRows rows = rows_of(shape(), layer, text.pasts());
    std::vector<ExactKeys> keys(std::size_t(shape().kv_heads));
    const auto copy_row = [&](const std::vector<float>& from, int dim, std::int64_t row,
                              std::vector<double>& to) {
      to.insert(to.end(), from.begin() + row * dim, from.begin() + (row + 1) * dim);
    };
    for (std::int64_t token = 0; token < rows.tokens; ++token)
      for (int head = 0; head < shape().kv_heads; ++head) {
        ExactKeys& of_head = keys[std::size_t(head)];
        of_head.positions.push_back(token);
        copy_row(rows.k, shape().head_dim_qk, token * shape().kv_heads + head, of_head.k);
        copy_row(rows.v, shape().head_dim_v, token * shape().kv_heads + head, of_head.v);
      }
    return keys;
  }

  LayerGroup group_;
  KvCache cache_;
  conformance::Rng rng_{11};
  std::vector<SequenceId> ids_;
  std::vector<TokenText> texts_;
  double worst_ = 0.0;
  int answers_ = 0;
};

class KvFormats : public testing::TestWithParam<Format> {};

TEST_P(KvFormats, AttentionIsWithinTheBoundOfWhatIsStored) {
  FormatRun run(GetParam());
  run.run();
  EXPECT_GT(run.answers(), 20);
  // Rounding to 3 bits moves a number by 3% in the mean; weights that it moves, too, add to that.
  const DType kv_type = GetParam().kv_type;
  const double near = kv_type == DType::f8e4m3 ? 0.1 : kv_type == DType::i8 ? 0.03 : 1e-2;
  EXPECT_LT(run.worst_against_appended(), near);
}

std::vector<Format> every_format() {
  std::vector<Format> formats;
  for (const DType q : {DType::f32, DType::f16, DType::bf16}) {
    for (const DType kv : {DType::f32, DType::f16, DType::bf16, DType::i8})
      formats.push_back({q, kv});
    for (const bool is_calibrated : {false, true})
      for (const auto scale : {ScaleGranularity::tensor, ScaleGranularity::kv_head})
        formats.push_back({q, DType::f8e4m3, scale, is_calibrated});
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Pairs, KvFormats, testing::ValuesIn(every_format()), [](const auto& c) {
  const Format& f = c.param;
  std::string name = std::string(name_of(f.q_type)) + "_" + std::string(name_of(f.kv_type));
  if (f.kv_type != DType::f8e4m3) return name;
  name += f.scale == ScaleGranularity::tensor ? "_tensor" : "_head";
  return name + (f.is_calibrated ? "_calibrated" : "_given");
});

/// An int8 cache whose tokens differ a hundred times in magnitude, and what its pages must hold.
class Int8Pages {
 public:
  Int8Pages() : cache_(options_of(group_)) {}

  void append(const std::vector<SequenceId>& ids, const std::vector<TokenText*>& texts, int count) {
    std::vector<KvRequest> requests;
    std::vector<std::uint64_t> fresh;
    for (std::size_t r = 0; r < ids.size(); ++r) {
      for (int i = 0; i < count; ++i) texts[r]->push(std::int32_t(100 * r) + i);
      requests.push_back({.sequence = ids[r], .new_tokens = count});
      const auto pasts = texts[r]->pasts().last(std::size_t(count));
      fresh.insert(fresh.end(), pasts.begin(), pasts.end());
    }
    KvStep open = cache_.begin(requests);
    for (int layer = 0; layer < kLayers; ++layer) {
      const NewRows rows = uneven_rows(layer, fresh);
      open.append_kv(writer(), 0, layer, rows.k_view(group_.shape), rows.v_view(group_.shape));
    }
    open.commit();
  }

  void expect_stored(SequenceId id, const TokenText& text) const {
    for (int layer = 0; layer < kLayers; ++layer) {
      const NewRows rows = uneven_rows(layer, text.pasts());
      const KvView kv = cache_.layer(0, layer);
      for (std::int32_t token = 0; token < text.length(); ++token)
        for (int head = 0; head < group_.shape.kv_heads; ++head) {
          const std::int64_t row = token * group_.shape.kv_heads + head;
          expect_row(id, token, head, kv.k, kv.k_scale, rows.k, row);
          expect_row(id, token, head, kv.v, kv.v_scale, rows.v, row);
        }
    }
  }

  KvCache& cache() { return cache_; }

 private:
  NewRows uneven_rows(int layer, std::span<const std::uint64_t> pasts) const {
    NewRows rows = rows_of(group_.shape, layer, pasts);
    for (std::vector<float>* numbers : {&rows.k, &rows.v})
      for (std::size_t i = 0, row = numbers->size() / pasts.size(); i < numbers->size(); ++i)
        (*numbers)[i] *= float(1 + pasts[i / row] % 100);
    return rows;
  }

  void expect_row(SequenceId id, std::int32_t token, int head, const TensorView& codes,
                  const TensorView& scales, const std::vector<float>& appended,
                  std::int64_t row) const {
    const std::int64_t page = cache_.pages(id, 0)[std::size_t(token / kPageSize)];
    const std::int64_t slot = token % kPageSize;
    const auto dim = std::ptrdiff_t(codes.sizes[3]);
    const auto first = appended.begin() + row * dim;
    const conformance::PlainRow wanted = conformance::plain_i8({first, first + dim});
    const auto* all_codes = static_cast<const std::int8_t*>(codes.data);
    const auto* of_row =
        all_codes + page * codes.strides[0] + head * codes.strides[1] + slot * codes.strides[2];
    ASSERT_EQ(std::vector<std::int8_t>(of_row, of_row + dim), wanted.codes) << token;
    ASSERT_EQ(
        static_cast<const float*>(scales.data)[page * scales.strides[0] + head * scales.strides[1] +
                                               slot * scales.strides[2]],
        wanted.scale)
        << token;
  }

  LayerGroup group_ = group_of({DType::bf16, DType::i8});
  KvCache cache_;
};

TEST(Int8Scales, TravelWithAPageThatIsCopiedOnWrite) {
  Int8Pages pages;
  TokenText text;
  const SequenceId id = pages.cache().create();
  pages.append({id}, {&text}, kPageSize + 5);
  TokenText other_text = text;
  const SequenceId other = pages.cache().fork(id);
  pages.append({other, id}, {&other_text, &text}, 2);
  EXPECT_EQ(pages.cache().pages(id, 0)[0], pages.cache().pages(other, 0)[0]);
  EXPECT_NE(pages.cache().pages(id, 0)[1], pages.cache().pages(other, 0)[1]);
  pages.expect_stored(id, text);
  pages.expect_stored(other, other_text);
  pages.append({id, other}, {&text, &other_text}, kPageSize);
  pages.expect_stored(id, text);
  pages.expect_stored(other, other_text);
}

}  // namespace
}  // namespace headwise
