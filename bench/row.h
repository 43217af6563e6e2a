#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cache_bench.h"
#include "bench/claims.h"
#include "bench/goals.h"
#include "bench/gpu_limits.h"
#include "bench/probes.h"

namespace headwise::bench {

/// One line of a bench: a backend at a workload. The fields are those of the JSON, whose absent
/// values are null.
struct Row {
  std::string suite;
  std::string backend;
  std::string kernel_row;  ///< of the backend's table; empty where it cannot
  std::string device;
  std::string shape;
  std::int64_t batch = 0;            ///< requests in the step
  std::int64_t q_len = 0;            ///< new tokens of the request with most
  std::int64_t kv_len = 0;           ///< keys of the request with most
  std::int64_t new_tokens = 0;       ///< of all requests
  std::string lens;                  ///< even, zipf, one-long or a file
  std::optional<std::int64_t> page;  ///< tokens
  std::string protocol;
  std::optional<double> sm_mhz;              ///< of a GPU, behind the timed calls
  std::optional<double> ms, ms_min, ms_max;  ///< median and range of one call; absent: not timed
  std::optional<double> tflops, gbps;        ///< by the median
  std::string limit;                         ///< "compute" or "bandwidth"
  std::optional<double> fraction;            ///< of the run's best probe or peer; may pass 1
  std::optional<double> fraction_peak;       ///< of the physical peak; above 1 the run is void
  std::optional<std::int64_t> workspace_bytes;
  bool peer = false;          ///< another library's, named in `backend`
  std::vector<Judged> goals;  ///< what is wanted of it, beside what it does
  std::string note;

  // Not in the JSON:
  std::int64_t outliers = 0;         ///< one query row in so many; 0: none; in lens_text()
  bool batch_invariant = false;      ///< PlanOptions; a peer's never is
  std::optional<double> times_peer;  ///< speed, in the fastest peer's
  std::optional<Topic> topic;        ///< of the claim that it is about
  std::string role;                  ///< among those that a claim compares
  std::optional<double> time_ratio;  ///< to the first of these
};

/// The note of a row that was planned and not run.
inline constexpr const char* kPlanned = "planned, not run";

/// "even, outliers 10000": what the JSON and tables have as lens.
std::string lens_text(const Row& row);

/// Adds a clause to the row's note.
void add_note(Row& row, const std::string& clause);

/// What a row was measured on.
struct DeviceInfo {
  std::string name;
  std::string instruction_sets;
  int threads = 0;
  std::int64_t memory_bytes = 0;
  std::optional<GpuInfo> gpu;  ///< that the tensors were on; absent: they were on the CPU
  int ordinal = 0;             ///< of the GPU
  std::string driver;          ///< and CUDA's versions
};

struct BenchReport {
  DeviceInfo device;
  MachineLimits limits;  ///< of the CPU, where the tensors were there
  GpuLimits gpu_limits;  ///< of the GPU
  HardwareLimits best;   ///< of probes and peers: what `fraction` is of
  std::vector<Row> rows;
  std::vector<Claim> claims;
  std::vector<CacheRow> cache;
  bool wrong = false;        ///< a row failed its check
  bool interrupted = false;  ///< rows are missing or short
  /// A row passed a physical peak, so the run's probes or clock were disturbed.
  bool is_void() const;
  /// What the probes found, of the device that the tensors were on.
  HardwareLimits probed() const;
};

nlohmann::ordered_json to_json(const Row& row);
/// {"device": ..., "limits": {...}, "rows": [...]}, and "claims" and "cache" where there are any.
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace headwise::bench
