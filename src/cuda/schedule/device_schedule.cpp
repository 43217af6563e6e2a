#include "cuda/schedule/device_schedule.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda {
namespace {

constexpr std::int64_t kHeader = 64;        // the counts
constexpr std::int64_t kCountersOfRow = 3;  // of a part's row, at most
static_assert(sizeof(ScheduleCounts) <= kHeader);

std::int64_t bytes_of(std::int64_t count, std::size_t size) {
  return (count * static_cast<std::int64_t>(size) + 63) / 64 * 64;
}

ScheduleCounts counts_of(const Schedule& schedule) {
  ScheduleCounts counts{.items = static_cast<std::int32_t>(schedule.items.size()),
                        .splits = static_cast<std::int32_t>(schedule.splits.size()),
                        .shares = schedule.block_begin.empty() ? 0 : 1};
  for (const Split& split : schedule.splits)
    counts.split_rows = std::max(counts.split_rows, split.rows);
  return counts;
}

}  // namespace

DeviceSchedule::DeviceSchedule(int device, const ScheduleBounds& bounds)
    : items_at_(kHeader),
      splits_at_(items_at_ + bytes_of(bounds.items, sizeof(WorkItem))),
      shared_tokens_at_(splits_at_ + bytes_of(bounds.splits, sizeof(Split))),
      block_begin_at_(shared_tokens_at_ + bytes_of(bounds.shared_tokens, sizeof(SharedToken))),
      memory_(device, block_begin_at_ + bytes_of(bounds.blocks + 1, sizeof(std::int32_t))),
      counters_(device,
                bytes_of(kCounters + std::max(bounds.splits, kCountersOfRow * bounds.part_rows),
                         sizeof(std::uint32_t))) {
  fill(counters_.data(), std::byte{0}, counters_.size());
  for (Image& image : images_) {
    image.memory = PinnedBuffer(memory_.size());
    check_call(cudaEventCreateWithFlags(&image.copied, cudaEventDisableTiming), "an event");
  }
}

DeviceSchedule::~DeviceSchedule() {
  for (const Image& image : images_)
    if (image.copied != nullptr) cudaEventDestroy(image.copied);
}

void DeviceSchedule::write(const Schedule& schedule, cudaStream_t stream) {
  const auto bytes = [](const auto& list) {
    return static_cast<std::int64_t>(list.size() * sizeof(list[0]));
  };
  check(items_at_ + bytes(schedule.items) <= splits_at_ &&
            splits_at_ + bytes(schedule.splits) <= shared_tokens_at_ &&
            shared_tokens_at_ + bytes(schedule.shared_tokens) <= block_begin_at_ &&
            block_begin_at_ + bytes(schedule.block_begin) <= memory_.size(),
        "a schedule of ", schedule.items.size(), " items passes the plan's bounds");

  Image& image = images_[next_image_];
  next_image_ = (next_image_ + 1) % images_.size();
  check_call(cudaEventSynchronize(image.copied), "waiting for a schedule's copy");
  auto* host = static_cast<char*>(image.memory.data());
  const auto copy = [&](std::int64_t begin, std::int64_t size) {
    if (size == 0) return;
    check_call(cudaMemcpyAsync(static_cast<char*>(memory_.data()) + begin, host + begin,
                               static_cast<std::size_t>(size), cudaMemcpyHostToDevice, stream),
               "copying a schedule");
  };
  const auto place = [&](std::int64_t begin, const auto& list) {
    if (!list.empty())
      std::memcpy(host + begin, list.data(), static_cast<std::size_t>(bytes(list)));
  };
  const ScheduleCounts counts = counts_of(schedule);
  std::memcpy(host, &counts, sizeof(counts));
  place(items_at_, schedule.items);
  place(splits_at_, schedule.splits);
  place(shared_tokens_at_, schedule.shared_tokens);
  place(block_begin_at_, schedule.block_begin);
  copy(0, items_at_ + bytes(schedule.items));
  copy(splits_at_, bytes(schedule.splits));
  copy(shared_tokens_at_, bytes(schedule.shared_tokens));
  copy(block_begin_at_, bytes(schedule.block_begin));
  check_call(cudaEventRecord(image.copied, stream), "recording an event");
}

}  // namespace headwise::cuda
