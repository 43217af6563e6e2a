#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/aligned_memory.h"
#include "headwise/kv_cache.h"
#include "headwise/registry.h"

namespace headwise {

struct AttentionOptions {
  std::string backend;           ///< forced, as for Registry::choose; "": the best one
  int threads = 0;               ///< as PlanOptions::threads
  std::int32_t max_tokens = 0;   ///< new tokens of a step
  std::int32_t max_context = 0;  ///< keys of a request
};

/// The attention of one layer group of an engine: chooses a backend for each phase when it first
/// comes, says so once at INFO, plans a step once and runs it once a layer.
class StepAttention {
 public:
  /// Of a group of the cache, which must outlive it. `layers` names them in log lines: "0-29".
  StepAttention(const KvCache& cache, int group, std::string layers,
                const AttentionOptions& options);

  /// Chooses the backend of a phase, and says so, if that has not been done. Throws Error as
  /// Registry::choose does.
  void prepare(Phase phase);

  /// Takes the next step, of one request. Throws Error as Registry::choose, Backend::plan and
  /// Plan::update do.
  void begin(const StepBatch& step);

  /// The one that begin() chose for the step.
  const Backend& backend() const { return *current_->backend; }

  /// Runs the step over a layer of the group: reads q and the pages, writes out.
  void run(int layer);

  const AttentionShape& shape() const { return shape_; }
  double seconds() const { return seconds_; }  ///< spent in begin() and run() so far
  const std::vector<std::string>& log_lines() const { return log_lines_; }  ///< one a phase seen

 private:
  using Bindings = std::vector<std::unique_ptr<KvBinding>>;  // by layer
  struct Prepared {
    const Backend* backend = nullptr;
    std::unique_ptr<Plan> plan;  // made by the phase's first step
    const Bindings* bindings = nullptr;
  };

  const Bindings& bindings_of(const Backend& backend);

  AttentionShape shape_;
  const KvCache* cache_;
  int group_;
  std::string layers_;
  AttentionOptions options_;
  std::array<Prepared, 4> by_phase_;
  std::map<const Backend*, Bindings> bindings_;
  Prepared* current_ = nullptr;
  AlignedBytes workspace_;  // one for all phases: only one plan runs at a time
  std::int64_t workspace_bytes_ = 0;
  double seconds_ = 0.0;
  std::vector<std::string> log_lines_;
};

/// The page size, in tokens, that the backend chosen for decoding likes best.
int preferred_page_size(const AttentionShape& shape, const AttentionOptions& options);

}  // namespace headwise
