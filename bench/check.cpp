#include "bench/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <set>

#include "core/check.h"
#include "core/number_formats.h"

namespace headwise::bench {
namespace {

constexpr std::int64_t kWorthThreads = 1 << 16;  // elements

float load(const Outputs& outputs, std::int64_t index) {
  if (outputs.type == DType::f32) return static_cast<const float*>(outputs.data)[index];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(outputs.data)[index];
  return outputs.type == DType::f16 ? f16_to_float(bits) : bf16_to_float(bits);
}

std::int64_t count_nans(const Outputs& outputs, std::int64_t count) {
  std::int64_t nans = 0;
#pragma omp parallel for reduction(+ : nans) schedule(static) if (count > kWorthThreads)
  for (std::int64_t i = 0; i < count; ++i) nans += std::isnan(load(outputs, i)) ? 1 : 0;
  return nans;
}

/// A step of the sampled rows alone: one request with one new token for each.
struct SampledStep {
  std::vector<std::int32_t> q_lens, kv_lens, q_start, pages;
  Buffer q, out, workspace;
  StepBatch step;

  SampledStep(const AttentionShape& shape, const Workload& workload, StepTensors& tensors, int copy,
              const std::vector<SampledRow>& rows);
};

std::vector<std::int64_t> first_tokens(const Workload& workload) {
  std::vector<std::int64_t> first(workload.q_lens.size(), 0);
  for (std::size_t r = 1; r < first.size(); ++r) first[r] = first[r - 1] + workload.q_lens[r - 1];
  return first;
}

/// A new token of the first copy, of which a query head is an outlier; absent: there is none.
std::optional<std::int64_t> outlier_token(const AttentionShape& shape, const Workload& workload,
                                          std::uint64_t seed) {
  const OutlierRows outliers = outliers_of(shape, workload);
  if (outliers.every == 0) return {};
  const std::uint64_t seed_q = seed_of_q(seed, 0);
  // The last one: late tokens see more keys.
  for (std::int64_t row = outliers.rows - 1; row >= 0; --row)
    if (outliers.has(row, seed_q)) return row / shape.q_heads;
  return {};
}

/// The request of a step's token, and its place there.
std::pair<std::int64_t, std::int32_t> row_of(const Workload& workload, std::int64_t token) {
  const std::vector<std::int64_t> first = first_tokens(workload);
  const auto request = std::upper_bound(first.begin(), first.end(), token) - first.begin() - 1;
  return {request, static_cast<std::int32_t>(token - first[static_cast<std::size_t>(request)])};
}

SampledStep::SampledStep(const AttentionShape& shape, const Workload& workload,
                         StepTensors& tensors, int copy, const std::vector<SampledRow>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t row_bytes =
      static_cast<std::int64_t>(shape.q_heads) * shape.head_dim_qk * size_of(shape.q_type);
  step = tensors.step();
  step.prefix_group = step.prefix_tokens = {};  // of other requests
  q = Buffer(count * row_bytes);
  out = Buffer(count * shape.q_heads * shape.head_dim_v * size_of(DType::f32));
  const std::vector<std::int64_t> first = first_tokens(workload);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto r = static_cast<std::size_t>(rows[i].request);
    q_lens.push_back(1);
    kv_lens.push_back(workload.kv_lens[r]);
    q_start.push_back(workload.kv_lens[r] - workload.q_lens[r] + rows[i].row);
    const std::int32_t* table = tensors.table(rows[i].request);
    pages.insert(pages.end(), table, table + step.tables.columns);
    std::memcpy(q.data() + static_cast<std::int64_t>(i) * row_bytes,
                tensors.q(copy).data() + (first[r] + rows[i].row) * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
  step.q = dense(static_cast<const void*>(q.data()), shape.q_type,
                 {count, shape.q_heads, shape.head_dim_qk});
  step.out =
      dense(static_cast<void*>(out.data()), DType::f32, {count, shape.q_heads, shape.head_dim_v});
  step.q_lens = q_lens;
  step.kv_lens = kv_lens;
  step.q_start = q_start;
  step.tables.pages = pages.data();
}

/// Runs `sampled` on `reference`; returns the seconds it took.
double run_reference(const AttentionShape& shape, StepTensors& tensors, int copy,
                     SampledStep& sampled, const Backend& reference, int threads) {
  const auto plan = reference.plan(shape, sampled.step, {.threads = threads});
  const auto binding = reference.bind(shape, tensors.kv(copy), KvLayout::paged);
  sampled.workspace = Buffer(plan->workspace_bytes());
  RunArgs args = tensors.args(copy);
  args.kv = binding.get();
  args.workspace = sampled.workspace.data();
  args.q = nullptr;
  args.out = nullptr;
  const auto start = std::chrono::steady_clock::now();
  plan->run(args);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The requests of `rows`, which are in order, each once.
std::vector<std::int64_t> sampled_requests(const std::vector<SampledRow>& rows) {
  std::vector<std::int64_t> requests;
  for (const SampledRow& row : rows)
    if (requests.empty() || requests.back() != row.request) requests.push_back(row.request);
  return requests;
}

double sampled_flops(const AttentionShape& shape, const SampledStep& sampled) {
  std::vector<RequestLengths> requests;
  for (std::size_t i = 0; i < sampled.q_lens.size(); ++i)
    requests.push_back({1, sampled.kv_lens[i], sampled.q_start[i]});
  return attention_work(shape, requests).flops;
}

}  // namespace

std::vector<SampledRow> sample_rows(const AttentionShape& shape, const Workload& workload,
                                    double flops, std::uint64_t seed) {
  const double flops_a_row = 2.0 * shape.q_heads * (shape.head_dim_qk + shape.head_dim_v) *
                             static_cast<double>(workload.longest_kv());
  const auto wanted = std::min(static_cast<std::size_t>(std::clamp(flops / flops_a_row, 2.0, 64.0)),
                               static_cast<std::size_t>(workload.tokens()));
  const auto longest =
      std::max_element(workload.kv_lens.begin(), workload.kv_lens.end()) - workload.kv_lens.begin();
  std::set<std::pair<std::int64_t, std::int32_t>> rows;
  rows.emplace(longest, 0);
  rows.emplace(longest, workload.q_lens[static_cast<std::size_t>(longest)] - 1);
  std::mt19937_64 random(seed);
  if (const auto token = outlier_token(shape, workload, seed))
    rows.insert(row_of(workload, *token));
  while (rows.size() < wanted) {
    const std::size_t request = random() % workload.q_lens.size();
    const auto q_len = static_cast<std::uint64_t>(workload.q_lens[request]);
    rows.emplace(request, static_cast<std::int32_t>(random() % q_len));
  }
  std::vector<SampledRow> sampled;
  for (const auto& [request, row] : rows) sampled.push_back({request, row});
  return sampled;
}

ExactRows::ExactRows(const AttentionShape& shape, const Workload& workload, StepTensors& tensors,
                     int copy, std::vector<SampledRow> rows, const Backend& reference, int threads)
    : shape_(shape), rows_(std::move(rows)), step_tokens_(workload.tokens()) {
  if (tensors.gpu() == nullptr) {
    compute(workload, tensors, copy, reference, threads);
  } else {
    StepTensors host = tensors.on_cpu(copy, sampled_requests(rows_));
    compute(workload, host, 0, reference, threads);
  }
  const std::vector<std::int64_t> first = first_tokens(workload);
  for (const SampledRow& row : rows_)
    tokens_.push_back(first[static_cast<std::size_t>(row.request)] + row.row);
}

void ExactRows::compute(const Workload& workload, StepTensors& tensors, int copy,
                        const Backend& reference, int threads) {
  SampledStep sampled(shape_, workload, tensors, copy, rows_);
  const double seconds = run_reference(shape_, tensors, copy, sampled, reference, threads);
  flops_per_s_ = sampled_flops(shape_, sampled) / seconds;
  exact_ = std::move(sampled.out);
}

Verdict ExactRows::judge(const Outputs& outputs) const {
  const std::int64_t width = static_cast<std::int64_t>(shape_.q_heads) * shape_.head_dim_v;
  if (const std::int64_t nans = count_nans(outputs, step_tokens_ * width); nans > 0)
    return {.fault = concat("wrong: ", nans, " outputs are NaN or were not written")};
  return compare(outputs);
}

/// Names the first request whose sampled rows are too far from the exact ones.
Verdict ExactRows::compare(const Outputs& outputs) const {
  Verdict verdict;
  const std::int64_t width = static_cast<std::int64_t>(shape_.q_heads) * shape_.head_dim_v;
  for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
    double error = 0.0;
    double norm = 0.0;
    for (; end < rows_.size() && rows_[end].request == rows_[begin].request; ++end) {
      const float* exact = exact_.as<float>() + static_cast<std::int64_t>(end) * width;
      for (std::int64_t i = 0; i < width; ++i) {
        const double want = exact[i];
        const double have = load(outputs, tokens_[end] * width + i);
        error += (have - want) * (have - want);
        norm += want * want;
      }
    }
    const double relative = error > 0.0 ? std::sqrt(error / norm) : 0.0;
    verdict.error = std::max(verdict.error, relative);
    // Written so that NaN fails, and so does anything but 0 where the exact rows are 0.
    if (!(std::sqrt(error) <= outputs.bound * std::sqrt(norm)) && verdict.fault.empty())
      verdict.fault =
          concat("wrong: request ", rows_[begin].request, " is off by ", relative,
                 " of its norm in ", end - begin, " sampled rows; the bound is ", outputs.bound);
  }
  return verdict;
}

}  // namespace headwise::bench
