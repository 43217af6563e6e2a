#pragma once

#include <vector>

#include "cuda/runtime/memory.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {

/// What an engine keeps for a captured graph: buffers of cuda:0 at addresses and strides that stay,
/// large enough for every one of some dense, paged cases of a shape.
class FixedBuffers {
 public:
  explicit FixedBuffers(const std::vector<const Case*>& cases);

  /// Copies the case's tensors and tables in and poisons out and lse. Returns its step there.
  StepBatch put(const Case& c);
  KvView kv() const;     ///< of the largest pool
  RunArgs args() const;  ///< with sinks

  /// Brings out and lse into `outputs`, which are dense. Throws std::runtime_error where rows
  /// behind the step's were written.
  void fetch(Outputs& outputs) const;

 private:
  void put_tables(const StepBatch& step);
  TensorView pool(const cuda::DeviceBuffer& buffer, DType dtype, int dim) const;

  AttentionShape shape_;
  DType out_type_;
  int page_size_ = 0;
  int table_heads_ = 1;
  std::int64_t tokens_ = 0;    ///< at most
  std::int64_t requests_ = 0;  ///< at most
  std::int64_t pages_ = 0;     ///< at most
  std::int32_t columns_ = 0;
  cuda::DeviceBuffer q_, out_, lse_, table_, k_, v_, sinks_;
};

}  // namespace headwise::conformance
