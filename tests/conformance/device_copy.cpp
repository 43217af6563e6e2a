#include "tests/conformance/device_copy.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "headwise/error.h"

namespace headwise::conformance {
namespace {

constexpr std::int64_t kGuard = 256;
constexpr std::byte kPoison{0xff};

/// Buffers that no case uses.
std::vector<cuda::DeviceBuffer>& spare_buffers() {
  static std::vector<cuda::DeviceBuffer> spares;
  return spares;
}

cuda::DeviceBuffer take_buffer(std::int64_t bytes) {
  auto& spares = spare_buffers();
  const auto fitting = std::ranges::find_if(
      spares, [&](const cuda::DeviceBuffer& spare) { return spare.size() >= bytes; });
  if (fitting != spares.end()) {
    cuda::DeviceBuffer buffer = std::move(*fitting);
    spares.erase(fitting);
    return buffer;
  }
  constexpr std::uint64_t kLeast = 1 << 20;
  const auto size = std::bit_ceil(std::max(kLeast, static_cast<std::uint64_t>(bytes)));
  try {
    return {0, static_cast<std::int64_t>(size)};
  } catch (const Error&) {
    spares.clear();  // they may be what is in the way
    return {0, bytes};
  }
}

}  // namespace

std::int64_t extent_bytes(const TensorView& view) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.rank); ++i) {
    if (view.sizes[i] == 0) return 0;
    if (view.sizes[i] > 1) elements += (view.sizes[i] - 1) * view.strides[i];
  }
  return elements * size_of(view.dtype);
}

bool exact_memory() {
  const char* variable = std::getenv("HEADWISE_EXACT_MEMORY");
  return variable != nullptr && *variable != '\0';
}

DeviceBlock::DeviceBlock(std::int64_t bytes)
    : buffer_(exact_memory() ? cuda::DeviceBuffer(0, bytes) : take_buffer(bytes)) {}

DeviceBlock::~DeviceBlock() {
  if (exact_memory()) return;
  auto& spares = spare_buffers();
  const auto larger = std::ranges::find_if(
      spares, [&](const cuda::DeviceBuffer& spare) { return spare.size() >= buffer_.size(); });
  spares.insert(larger, std::move(buffer_));  // smallest first
}

void DeviceCopy::add(const TensorView& view, Use use) {
  if (view) add(view.data, extent_bytes(view), use);
}

void DeviceCopy::add(const void* begin, std::int64_t bytes, Use use) {
  if (begin == nullptr || bytes == 0) return;
  intervals_.push_back({static_cast<std::byte*>(const_cast<void*>(begin)), bytes, use});
}

void DeviceCopy::join_overlapping() {
  std::ranges::sort(intervals_, {}, &Interval::host);
  std::vector<Interval> joined;
  for (const Interval& next : intervals_) {
    if (joined.empty() || next.host >= joined.back().host + joined.back().bytes) {
      joined.push_back(next);
      continue;
    }
    Interval& last = joined.back();
    last.bytes = std::max(last.bytes, next.host + next.bytes - last.host);
    if (next.use == Use::written) last.use = Use::written;
  }
  intervals_ = std::move(joined);
}

void DeviceCopy::lay_out() {
  std::ranges::stable_sort(intervals_, {}, &Interval::use);  // what is written comes last
  std::int64_t end = 0;
  bool written = false;
  for (Interval& interval : intervals_) {
    if (interval.use == Use::written && !written) {
      written = true;
      written_from_ = end;
    }
    // 16 bytes past a multiple of 256, so that nothing is better aligned than it has to be.
    const std::int64_t first = (end + kGuard + 255) / 256 * 256 + 16;
    interval.offset =
        first + static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(interval.host) % 16);
    end = interval.offset + interval.bytes + kGuard;
  }
  if (!written) written_from_ = end;
  staging_.assign(static_cast<std::size_t>(end), kPoison);
}

void DeviceCopy::stage(std::int64_t from) {
  std::fill(staging_.begin() + from, staging_.end(), kPoison);
  for (const Interval& interval : intervals_)
    if (interval.offset >= from)
      std::memcpy(staging_.data() + interval.offset, interval.host,
                  static_cast<std::size_t>(interval.bytes));
  const auto bytes = static_cast<std::int64_t>(staging_.size()) - from;
  if (bytes > 0) cuda::copy_to_device(block_->data() + from, staging_.data() + from, bytes);
}

void DeviceCopy::send() {
  join_overlapping();
  lay_out();
  if (!exact_memory()) {
    block_ = std::make_unique<DeviceBlock>(static_cast<std::int64_t>(staging_.size()));
    for (Interval& interval : intervals_) interval.device = block_->data() + interval.offset;
    return stage(0);
  }
  for (Interval& interval : intervals_) {
    const std::int64_t lead = interval.offset % kGuard;
    exact_.emplace_back(0, lead + interval.bytes);
    interval.device = exact_.back().as<std::byte>() + lead;
    cuda::copy_to_device(interval.device, interval.host, interval.bytes);
  }
}

void DeviceCopy::send_written() {
  if (exact_.empty()) return stage(written_from_);
  for (const Interval& interval : intervals_)
    if (interval.use == Use::written)
      cuda::copy_to_device(interval.device, interval.host, interval.bytes);
}

void DeviceCopy::fetch_written() {
  if (exact_.empty()) return fetch_staged();
  for (const Interval& interval : intervals_)
    if (interval.use == Use::written)
      cuda::copy_to_host(interval.host, interval.device, interval.bytes);
}

void DeviceCopy::fetch_staged() {
  const auto bytes = static_cast<std::int64_t>(staging_.size()) - written_from_;
  if (bytes == 0) return;
  cuda::copy_to_host(staging_.data() + written_from_, block_->data() + written_from_, bytes);
  std::int64_t guard = written_from_;
  const auto check_guard = [&](std::int64_t end) {
    for (; guard < end; ++guard)
      if (staging_[static_cast<std::size_t>(guard)] != kPoison)
        throw std::runtime_error("wrote beside out or lse on the device");
  };
  for (const Interval& interval : intervals_) {
    if (interval.use != Use::written) continue;
    check_guard(interval.offset);
    std::memcpy(interval.host, staging_.data() + interval.offset,
                static_cast<std::size_t>(interval.bytes));
    guard = interval.offset + interval.bytes;
  }
  check_guard(static_cast<std::int64_t>(staging_.size()));
}

std::byte* DeviceCopy::at(const void* host) const {
  if (host == nullptr) return nullptr;
  const auto* byte = static_cast<const std::byte*>(host);
  for (const Interval& interval : intervals_)
    if (byte >= interval.host && byte < interval.host + interval.bytes)
      return interval.device + (byte - interval.host);
  throw std::logic_error("host memory that was not copied to the device");
}

}  // namespace headwise::conformance
