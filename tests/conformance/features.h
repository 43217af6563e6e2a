#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::conformance {

/// What cases differ in. Every pair of values of two features occurs in some case.
enum Feature : std::size_t {
  kQType,
  kKvType,
  kGroup,
  kKvHeads,
  kDimQk,
  kDimV,
  kPage,
  kMask,
  kSoftcap,
  kSinks,
  kScale,
  kQStart,
  kPagePos,
  kTables,
  kSharing,
  kKMemory,
  kVMemory,
  kQMemory,
  kOutMemory,
  kLse,
  kOutType,
  kFp8Scale,
  kLengths,
  kRequests,
  kData,
  kThreads,
  kCapacity,
  kFeatures
};

struct FeatureInfo {
  std::string_view name;
  std::vector<std::string_view> values;
};

const FeatureInfo& info_of(std::size_t feature);

/// One value of each feature, as an index into its values.
struct Spec {
  std::array<std::uint8_t, kFeatures> value{};

  std::string_view text(Feature feature) const { return info_of(feature).values[value[feature]]; }
  bool is(Feature feature, std::string_view wanted) const { return text(feature) == wanted; }
  int number(Feature feature) const;  ///< for values that are numbers

  friend bool operator==(const Spec&, const Spec&) = default;
};

/// "q=bf16 kv=f8e4m3 group=3 ...".
std::string to_string(const Spec& spec);

/// False for two values that cannot meet in one case: packed keys have no tables, for example.
bool compatible(std::size_t feature, std::uint8_t value, std::size_t other,
                std::uint8_t other_value);
bool allowed(const Spec& spec);

}  // namespace headwise::conformance
