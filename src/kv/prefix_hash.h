#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace headwise {

/// The hash of a page of tokens behind its parent's, by folded 128-bit products (the mixing of
/// wyhash, Wang Yi 2019). `seed` keeps those who choose tokens from choosing collisions; entries
/// are compared with what they stand for, so that one costs time only.
class PrefixHash {
 public:
  explicit PrefixHash(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t root() const { return seed_; }

  std::uint64_t chain(std::uint64_t parent, std::span<const std::int32_t> tokens,
                      std::string_view extras) const {
    std::uint64_t hash = mix(parent ^ kFirst, seed_ ^ tokens.size());
    hash = add(hash, reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
    if (!extras.empty()) hash = add(hash ^ kSecond, extras.data(), extras.size());
    return hash;
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;   // odd bits of the golden ratio
  static constexpr std::uint64_t kSecond = 0xd1342543de82ef95;  // a multiplier of L'Ecuyer's

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t add(std::uint64_t hash, const char* bytes, std::size_t size) const {
    for (; size >= 16; bytes += 16, size -= 16)
      hash = mix(word(bytes, 8) ^ seed_ ^ hash, word(bytes + 8, 8) ^ std::rotl(hash, 32) ^ kSecond);
    const std::size_t low = size < 8 ? size : 8;
    return mix(word(bytes, low) ^ hash ^ kFirst, word(bytes + low, size - low) ^ seed_ ^ size);
  }

  static std::uint64_t word(const char* bytes, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    return value;
  }

  std::uint64_t seed_;
};

}  // namespace headwise
