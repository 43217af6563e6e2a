#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/roofline.h"
#include "bench/lens.h"
#include "headwise/plan.h"
#include "headwise/step_batch.h"

namespace headwise::bench {

/// What `bench` is asked to run, in tokens of one request with context C:
enum class Suite : std::uint8_t {
  prefill,  ///< q_len = kv_len = C
  append,   ///< q_len = N new ones behind C cached ones, kv_len = C + N
  decode,   ///< q_len = 1, kv_len = C, the new one included
  mixed,    ///< decodes as above, behind prompt chunks with q_len = kv_len = min(C, 2048)
  paged,    ///< decode, then prefill, over pages of several sizes beside contiguous keys
  claims,   ///< what is said of attention: claims.h
  cache,    ///< what the KV cache's bookkeeping costs: cache_bench.h
  goals,    ///< the rows of goals.h
};

std::string_view name_of(Suite suite);
/// Throws Error(unknown_name) that lists the suites.
Suite parse_suite(std::string_view name);
/// Whether `--new` means anything to it.
constexpr bool takes_new_tokens(Suite suite) { return suite == Suite::append; }
/// Whether its requests have cached tokens that they may share.
constexpr bool takes_shared_prefix(Suite suite) {
  return suite == Suite::append || suite == Suite::decode || suite == Suite::mixed;
}

struct WorkloadOptions {
  std::vector<std::int64_t> contexts{4096};  ///< tokens
  std::vector<std::int64_t> new_tokens{64};  ///< a request, of Suite::append
  std::int64_t batch = 1;                    ///< requests; of Suite::mixed, the decodes
  std::int64_t prompts = 1;                  ///< of Suite::mixed, with a chunk each
  Lens lens;
  std::int64_t shared_prefix = 0;  ///< Workload::shared_prefix, where the suite takes one
  std::int64_t outliers = 0;       ///< Workload::outliers
  std::uint64_t seed = 0;
};

/// One step to be timed.
struct Workload {
  Suite suite = Suite::prefill;
  std::string lens;                  ///< Lens::name, and the shared prefix
  std::vector<std::int32_t> q_lens;  ///< [requests] tokens
  std::vector<std::int32_t> kv_lens;
  std::size_t prompts = 0;  ///< of Suite::mixed: the first requests are prompt chunks
  /// Tokens that all requests but the prompt chunks begin with: the pages that these fill are the
  /// same ones. Each such request has at least as many cached.
  std::int32_t shared_prefix = 0;
  /// Of so many rows of q, a token's query head each, about one is multiplied by kOutlierFactor, so
  /// that its logits spread as much more; 0: none.
  std::int64_t outliers = 0;

  std::int64_t tokens() const;      ///< new ones, of all requests
  std::int32_t longest_q() const;   ///< of a request
  std::int32_t longest_kv() const;  ///< of a request
  StepBatch lengths() const;        ///< without tensors; its spans point in here
  std::vector<RequestLengths> requests() const;
  bool shares_prefix(std::size_t request) const { return shared_prefix > 0 && request >= prompts; }
};

/// What attention over the step has to do; keys and values of a shared prefix are read once.
AttentionWork work_of(const AttentionShape& shape, const Workload& workload);

/// "append q 64 kv 4160 batch 1 prefix 4096 outliers 10000".
std::string to_string(const Workload& workload);

/// A step of some of another's requests, from `first` on.
Workload requests_of(const Workload& workload, std::size_t first, std::size_t count);

/// A workload for each context (one where the lens are listed), for append each number of new
/// tokens, and for paged two; none for claims and goals. Throws Error(invalid_input) where a
/// request would pass 2^31 - 1 keys, or has less cached than a prefix that it is to share.
std::vector<Workload> make_workloads(Suite suite, const WorkloadOptions& options);

}  // namespace headwise::bench
