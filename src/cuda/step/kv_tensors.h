#pragma once

#include "cuda/step_args.h"
#include "headwise/kv_binding.h"

namespace headwise::cuda {

/// A layer's K and V as kernels take them.
class KvTensors : public KvBinding {
 public:
  KvTensors(std::string_view backend, const AttentionShape& shape, KvLayout layout,
            const KvView& view);

  const KvTensor& k() const { return k_; }
  const KvTensor& v() const { return v_; }
  bool chunks() const { return chunks_; }  ///< rows are whole 16-byte chunks, at such addresses

 private:
  KvTensor k_;
  KvTensor v_;
  bool chunks_ = true;
};

}  // namespace headwise::cuda
