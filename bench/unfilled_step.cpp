#include "bench/unfilled_step.h"

#include <numeric>

namespace headwise::bench {

UnfilledStep::UnfilledStep(const AttentionShape& shape, const Workload& workload, int page_size,
                           Gpu* gpu)
    : workload_(workload),
      q_(workload.tokens() * shape.q_heads * shape.head_dim_qk * size_of(shape.q_type), gpu),
      out_(workload.tokens() * shape.q_heads * shape.head_dim_v * size_of(shape.out_type()), gpu) {
  const Device device = gpu != nullptr ? gpu->device() : Device{};
  const std::int32_t columns = (workload.longest_kv() + page_size - 1) / page_size;
  pages_.resize(workload.kv_lens.size() * static_cast<std::size_t>(columns));
  std::iota(pages_.begin(), pages_.end(), 0);
  if (gpu != nullptr)
    placed_ = on_gpu(*gpu, pages_.data(),
                     static_cast<std::int64_t>(pages_.size() * sizeof(pages_.front())));
  step_ = workload_.lengths();
  step_.q = dense(static_cast<const void*>(q_.data()), shape.q_type,
                  {workload.tokens(), shape.q_heads, shape.head_dim_qk}, device);
  step_.out = dense(static_cast<void*>(out_.data()), shape.out_type(),
                    {workload.tokens(), shape.q_heads, shape.head_dim_v}, device);
  step_.tables = {
      .page_size = page_size,
      .pool_pages = static_cast<std::int64_t>(pages_.size()),
      .columns = columns,
      .pages = gpu != nullptr ? static_cast<const std::int32_t*>(placed_.get()) : pages_.data(),
      .request_stride = columns,
      .device = device};
}

}  // namespace headwise::bench
