#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace headwise {

/// Which of a fixed set of numbered items was used longest ago. Logarithmic time a call; allocates
/// nothing after it was made. (A binary heap that knows where each item is: Cormen et al.,
/// Introduction to Algorithms, section 6.5.)
class LruHeap {
 public:
  explicit LruHeap(std::int64_t items) : places_(static_cast<std::size_t>(items), kAbsent) {
    heap_.reserve(places_.size());
  }

  bool empty() const { return heap_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(heap_.size()); }
  bool contains(std::int32_t item) const { return place(item) != kAbsent; }
  std::int32_t oldest() const { return heap_.front().item; }  ///< it is not empty

  /// Notes when an item was used; it may be absent before.
  void use(std::int32_t item, std::uint64_t time) {
    if (!contains(item)) {
      place(item) = static_cast<std::int32_t>(heap_.size());
      heap_.push_back({time, item});
    }
    const std::int32_t at = place(item);
    heap_[index(at)].time = time;
    sink(rise(at));
  }

  /// The item is present.
  void erase(std::int32_t item) {
    const std::int32_t at = place(item);
    const auto last = static_cast<std::int32_t>(heap_.size()) - 1;
    swap(at, last);
    heap_.pop_back();
    place(item) = kAbsent;
    if (at < last) sink(rise(at));
  }

 private:
  static constexpr std::int32_t kAbsent = -1;

  struct Entry {
    std::uint64_t time;
    std::int32_t item;
  };

  static std::size_t index(std::int32_t at) { return static_cast<std::size_t>(at); }
  std::int32_t& place(std::int32_t item) { return places_[index(item)]; }
  std::int32_t place(std::int32_t item) const { return places_[index(item)]; }
  bool older(std::int32_t a, std::int32_t b) const {
    return heap_[index(a)].time < heap_[index(b)].time;
  }

  void swap(std::int32_t a, std::int32_t b) {
    std::swap(heap_[index(a)], heap_[index(b)]);
    place(heap_[index(a)].item) = a;
    place(heap_[index(b)].item) = b;
  }

  std::int32_t rise(std::int32_t at) {
    for (; at > 0 && older(at, (at - 1) / 2); at = (at - 1) / 2) swap(at, (at - 1) / 2);
    return at;
  }

  void sink(std::int32_t at) {
    const auto count = static_cast<std::int32_t>(heap_.size());
    for (;;) {
      std::int32_t least = at;
      for (const std::int32_t child : {2 * at + 1, 2 * at + 2})
        if (child > 0 && child < count && older(child, least)) least = child;
      if (least == at) return;
      swap(at, least);
      at = least;
    }
  }

  std::vector<Entry> heap_;
  std::vector<std::int32_t> places_;  // of each item in the heap
};

}  // namespace headwise
