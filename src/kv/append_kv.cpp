#include "kv/append_kv.h"

#include "core/check.h"

namespace headwise {

void append_kv(const Backend& backend, const AttentionShape& shape, const KvSequence& sequence,
               int layer, const TensorView& k, const TensorView& v) {
  const std::int64_t room =
      static_cast<std::int64_t>(sequence.pages().size()) * sequence.pool().shape().page_size -
      sequence.length();
  check(k.sizes[0] <= room, "room for ", room, " tokens was reserved, there are ", k.sizes[0]);
  const auto count = static_cast<std::int32_t>(k.sizes[0]);
  const std::int32_t context = sequence.length() + count;
  StepBatch step;
  step.q_lens = {&count, 1};
  step.kv_lens = {&context, 1};
  step.tables = sequence.tables();
  AppendArgs args;
  args.k = k;
  args.v = v;
  args.cache = sequence.pool().mutable_layer(layer);
  backend.append_kv(shape, step, args);
}

}  // namespace headwise
