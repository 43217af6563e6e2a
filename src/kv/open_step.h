#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headwise/kv_step.h"

namespace headwise {

class KvCacheState;
struct Sequence;

/// The step that is open on a cache, if one is: what it took, so that it can be taken back.
/// Allocates nothing after it was made.
class OpenStep {
 public:
  OpenStep(int max_requests, int groups);

  std::span<const std::int32_t> q_lens() const { return q_lens_; }
  std::span<const std::int32_t> kv_lens() const { return kv_lens_; }
  SequenceId sequence(std::size_t request) const { return requests_[request].id; }

  /// By request, since find_prefixes: as StepBatch has them.
  std::span<const std::int32_t> prefix_groups() const { return prefix_groups_; }
  std::span<const std::int32_t> prefix_tokens() const { return prefix_tokens_; }
  void find_prefixes(const KvCacheState& cache, int group);

  /// As KvCache::begin, KvStep::commit and KvStep::rollback have them.
  void begin(KvCacheState& cache, std::span<const KvRequest> requests, void* stream);
  void commit(KvCacheState& cache);
  void commit(KvCacheState& cache, std::span<const std::int32_t> accepted);
  void rollback(KvCacheState& cache) noexcept;

 private:
  struct Request {
    SequenceId id;
    std::int32_t old_entries = 0;
    bool takes_pages = false;
    std::span<const std::int32_t> tokens;
  };
  /// A page that the sequence shared, and that its table had before its copy.
  struct CopiedPage {
    std::int32_t row = 0;
    int group = 0;
    std::int32_t entry = 0;
    std::int32_t original = 0;
  };

  void add(KvCacheState& cache, const KvRequest& request);
  void count_pages(KvCacheState& cache, const Sequence& sequence, SequenceId id,
                   std::int32_t length);
  void take_pages(KvCacheState& cache, std::size_t request, void* stream);
  void copy_shared_page(KvCacheState& cache, std::size_t request, int group, void* stream);
  void advance(KvCacheState& cache, std::size_t request);
  void give_back_pages(KvCacheState& cache, std::size_t request, std::int32_t accepted);
  void publish_prefix(KvCacheState& cache, std::size_t request);
  void pass_window(KvCacheState& cache, std::size_t request, int group);
  void close(KvCacheState& cache);
  void publish(KvCacheState& cache);

  bool open_ = false;
  bool pages_moved_ = false;  // since usage was published last
  std::vector<Request> requests_;
  std::vector<std::int32_t> q_lens_;   // [requests]
  std::vector<std::int32_t> kv_lens_;  // [requests]
  std::vector<CopiedPage> copied_;
  std::vector<std::int32_t> prefix_groups_, prefix_tokens_, prefix_order_;  // [requests]
  std::vector<const std::int32_t*> tables_;  // by group: of a sequence, for the prefix cache
};

}  // namespace headwise
