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
  goals,    ///< the rows of goals.h
};

std::string_view name_of(Suite suite);
/// Throws Error(unknown_name) that lists the suites.
Suite parse_suite(std::string_view name);
/// Whether `--new` means anything to it.
constexpr bool takes_new_tokens(Suite suite) { return suite == Suite::append; }

struct WorkloadOptions {
  std::vector<std::int64_t> contexts{4096};  ///< tokens
  std::vector<std::int64_t> new_tokens{64};  ///< a request, of Suite::append
  std::int64_t batch = 1;                    ///< requests; of Suite::mixed, the decodes
  std::int64_t prompts = 1;                  ///< of Suite::mixed, with a chunk each
  Lens lens;
  std::uint64_t seed = 0;
};

/// One step to be timed.
struct Workload {
  Suite suite = Suite::prefill;
  std::string lens;                  ///< Lens::name
  std::vector<std::int32_t> q_lens;  ///< [requests] tokens
  std::vector<std::int32_t> kv_lens;
  std::size_t prompts = 0;  ///< of Suite::mixed: the first requests are prompt chunks

  std::int64_t tokens() const;      ///< new ones, of all requests
  std::int32_t longest_q() const;   ///< of a request
  std::int32_t longest_kv() const;  ///< of a request
  StepBatch lengths() const;        ///< without tensors; its spans point in here
  std::vector<RequestLengths> requests() const;
};

/// "append q 64 kv 4160 batch 1".
std::string to_string(const Workload& workload);

/// A step of some of another's requests, from `first` on.
Workload requests_of(const Workload& workload, std::size_t first, std::size_t count);

/// A workload for each context (one where the lens are listed), for append each number of new
/// tokens, and for paged two; none for goals. Throws Error(invalid_input) where a request would
/// pass 2^31 - 1 keys.
std::vector<Workload> make_workloads(Suite suite, const WorkloadOptions& options);

}  // namespace headwise::bench
