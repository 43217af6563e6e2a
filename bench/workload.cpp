#include "bench/workload.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/check.h"

namespace headwise::bench {
namespace {

constexpr std::array<std::string_view, 8> kSuites{"prefill", "append", "decode", "mixed",
                                                  "paged",   "claims", "cache",  "goals"};
constexpr std::int64_t kMixedChunk = 2048;

std::int32_t length(std::int64_t tokens) {
  check(tokens <= std::numeric_limits<std::int32_t>::max(), "a request of ", tokens,
        " tokens is longer than 2^31 - 1");
  return static_cast<std::int32_t>(tokens);
}

void add(Workload& workload, std::int64_t q_len, std::int64_t kv_len) {
  workload.q_lens.push_back(length(q_len));
  workload.kv_lens.push_back(length(kv_len));
}

void share_prefix(Workload& workload, std::int64_t tokens) {
  for (std::size_t r = workload.prompts; r < workload.q_lens.size(); ++r)
    check(workload.kv_lens[r] - workload.q_lens[r] >= tokens, "a shared prefix of ", tokens,
          " tokens is longer than what a request of ", workload.kv_lens[r],
          " tokens has cached: ", workload.kv_lens[r] - workload.q_lens[r]);
  workload.shared_prefix = length(tokens);
  workload.lens += concat(", prefix ", tokens);
}

Workload make_workload(Suite suite, const WorkloadOptions& options,
                       const std::vector<std::int64_t>& contexts, std::int64_t new_tokens,
                       bool prompt_each) {
  Workload workload{.suite = suite,
                    .lens = options.lens.name,
                    .q_lens = {},
                    .kv_lens = {},
                    .outliers = options.outliers};
  if (suite == Suite::mixed) {
    const std::int64_t longest = *std::max_element(contexts.begin(), contexts.end());
    const std::int64_t chunk = std::min(kMixedChunk, longest);
    for (std::int64_t i = 0; i < options.prompts; ++i) add(workload, chunk, chunk);
    workload.prompts = static_cast<std::size_t>(options.prompts);
  }
  for (const std::int64_t context : contexts) {
    if (prompt_each)
      add(workload, context, context);
    else if (suite == Suite::append)
      add(workload, new_tokens, context + new_tokens);
    else
      add(workload, 1, context);
  }
  if (takes_shared_prefix(suite) && options.shared_prefix > 0)
    share_prefix(workload, options.shared_prefix);
  return workload;
}

}  // namespace

std::string_view name_of(Suite suite) { return kSuites[static_cast<std::size_t>(suite)]; }

Suite parse_suite(std::string_view name) {
  const auto* found = std::find(kSuites.begin(), kSuites.end(), name);
  if (found == kSuites.end())
    throw Error(ErrorCode::unknown_name,
                concat("unknown suite '", name,
                       "'; there are prefill, append, decode, mixed, paged, claims, cache, goals"));
  return static_cast<Suite>(found - kSuites.begin());
}

std::int64_t Workload::tokens() const {
  return std::accumulate(q_lens.begin(), q_lens.end(), std::int64_t{0});
}

std::int32_t Workload::longest_q() const { return *std::max_element(q_lens.begin(), q_lens.end()); }

std::int32_t Workload::longest_kv() const {
  return *std::max_element(kv_lens.begin(), kv_lens.end());
}

StepBatch Workload::lengths() const {
  StepBatch step;
  step.q_lens = q_lens;
  step.kv_lens = kv_lens;
  return step;
}

std::vector<RequestLengths> Workload::requests() const {
  std::vector<RequestLengths> requests(q_lens.size());
  for (std::size_t r = 0; r < requests.size(); ++r)
    requests[r] = {.q_len = q_lens[r], .kv_len = kv_lens[r], .q_start = {}};
  return requests;
}

AttentionWork work_of(const AttentionShape& shape, const Workload& workload) {
  std::vector<RequestLengths> requests = workload.requests();
  AttentionWork work = attention_work(shape, requests);
  const auto bytes_of = [&](const RequestLengths& one) {
    return attention_work(shape, {&one, 1}).read_bytes;
  };
  // What a request reads of the prefix is what it reads less without it; windows may hide some.
  double all = 0.0;
  double most = 0.0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (!workload.shares_prefix(r)) continue;
    RequestLengths own = requests[r];
    own.kv_len -= workload.shared_prefix;
    const double of_prefix = bytes_of(requests[r]) - bytes_of(own);
    all += of_prefix;
    most = std::max(most, of_prefix);
  }
  work.read_bytes -= all - most;
  return work;
}

std::string to_string(const Workload& workload) {
  std::string text = concat(name_of(workload.suite), " q ", workload.longest_q(), " kv ",
                            workload.longest_kv(), " batch ", workload.q_lens.size());
  if (workload.shared_prefix > 0) text += concat(" prefix ", workload.shared_prefix);
  if (workload.outliers > 0) text += concat(" outliers ", workload.outliers);
  return text;
}

Workload requests_of(const Workload& workload, std::size_t first, std::size_t count) {
  const auto from = static_cast<std::ptrdiff_t>(first);
  const auto to = from + static_cast<std::ptrdiff_t>(count);
  return {.suite = workload.suite,
          .lens = workload.lens,
          .q_lens = {workload.q_lens.begin() + from, workload.q_lens.begin() + to},
          .kv_lens = {workload.kv_lens.begin() + from, workload.kv_lens.begin() + to},
          .prompts = std::clamp(workload.prompts, first, first + count) - first,
          .shared_prefix = workload.shared_prefix,
          .outliers = workload.outliers};
}

std::vector<Workload> make_workloads(Suite suite, const WorkloadOptions& options) {
  if (suite == Suite::claims || suite == Suite::cache || suite == Suite::goals) return {};
  const bool listed = options.lens.kind == Lens::Kind::listed;
  const std::vector<std::int64_t> contexts =
      listed ? std::vector<std::int64_t>{0} : options.contexts;
  const std::vector<std::int64_t> news =
      takes_new_tokens(suite) ? options.new_tokens : std::vector<std::int64_t>{1};
  std::vector<Workload> workloads;
  for (const std::int64_t context : contexts) {
    const auto lengths = context_lengths(options.lens, context, options.batch, options.seed);
    for (const std::int64_t new_tokens : news)
      workloads.push_back(
          make_workload(suite, options, lengths, new_tokens, suite == Suite::prefill));
    if (suite == Suite::paged) workloads.push_back(make_workload(suite, options, lengths, 1, true));
  }
  return workloads;
}

}  // namespace headwise::bench
