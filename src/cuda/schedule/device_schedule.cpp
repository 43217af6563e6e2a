#include "cuda/schedule/device_schedule.h"

#include <cstring>

#include "core/check.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda {
namespace {

constexpr std::int64_t kHeader = 64;  // the number of items

std::int64_t bytes_of(std::int64_t count, std::size_t size) {
  return (count * static_cast<std::int64_t>(size) + 63) / 64 * 64;
}

}  // namespace

DeviceSchedule::DeviceSchedule(int device, const ScheduleBounds& bounds)
    : items_at_(kHeader),
      splits_at_(items_at_ + bytes_of(bounds.items, sizeof(WorkItem))),
      memory_(device, splits_at_ + bytes_of(bounds.splits, sizeof(Split))),
      counters_(device, bytes_of(2 + bounds.splits, sizeof(std::uint32_t))) {
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
  const auto items = static_cast<std::int64_t>(schedule.items.size() * sizeof(WorkItem));
  const auto splits = static_cast<std::int64_t>(schedule.splits.size() * sizeof(Split));
  check(items_at_ + items <= splits_at_ && splits_at_ + splits <= memory_.size(), "a schedule of ",
        schedule.items.size(), " items passes the plan's bounds");

  Image& image = images_[next_image_];
  next_image_ = (next_image_ + 1) % images_.size();
  check_call(cudaEventSynchronize(image.copied), "waiting for a schedule's copy");
  auto* host = static_cast<char*>(image.memory.data());
  const auto count = static_cast<std::int32_t>(schedule.items.size());
  std::memcpy(host, &count, sizeof(count));
  const auto copy = [&](std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0) return;
    check_call(cudaMemcpyAsync(static_cast<char*>(memory_.data()) + begin, host + begin,
                               static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream),
               "copying a schedule");
  };
  const auto place = [&](std::int64_t begin, const void* data, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(host + begin, data, static_cast<std::size_t>(bytes));
  };
  place(items_at_, schedule.items.data(), items);
  place(splits_at_, schedule.splits.data(), splits);
  copy(0, items_at_ + items);
  copy(splits_at_, splits);
  check_call(cudaEventRecord(image.copied, stream), "recording an event");
}

}  // namespace headwise::cuda
