#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/check.h"

namespace headwise {

/// A name out of a file, fit for a one-line message: quoted, cut short, printable.
inline std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  std::string text = "'";
  for (const char c : name.substr(0, kLongest)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kLongest ? "...'" : "'");
}

/// Reads little-endian values one after another, never past the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  /// The next `count` bytes; throws Error naming `what` if there are fewer.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    check(count <= remaining(), what, " needs ", count, " bytes where ", remaining(),
          " are left in the file");
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  /// A 64-bit length and as many bytes; a view into the input.
  std::string_view string(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace headwise
