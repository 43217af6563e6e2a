#pragma once

#include <array>
#include <optional>
#include <span>

#include "advisor/device/hardware.h"

namespace headwise {

// The numbers of a hardware file, for its reader and its writer.

struct HardwareUnit {
  const char* name;
  double size;
};
inline constexpr std::array kRates{HardwareUnit{"GB/s", 1e9}, HardwareUnit{"TB/s", 1e12}};
inline constexpr std::array kSizes{HardwareUnit{"KiB", 1024.0}, HardwareUnit{"MiB", 1048576.0},
                                   HardwareUnit{"GiB", 1073741824.0}, HardwareUnit{"GB", 1e9}};
inline constexpr std::array kFlops{HardwareUnit{"TFLOP/s", 1e12}};
inline constexpr std::array kCounts{HardwareUnit{"count", 1.0}};
inline constexpr std::array kExps{HardwareUnit{"10^12/s", 1e12}};

/// A field of the files. What lies outside of `least` to `most` is a slip of the unit.
struct HardwareField {
  const char* name;
  std::optional<Figure> Hardware::*figure;
  std::span<const HardwareUnit> units;
  double least, most;
};
inline constexpr std::array kHardwareFields{
    HardwareField{"memory_bandwidth", &Hardware::memory_bytes_per_s, kRates, 1e9, 1e15},
    HardwareField{"memory", &Hardware::memory_bytes, kSizes, 1e8, 1e14},
    HardwareField{"f32", &Hardware::f32_flops, kFlops, 1e9, 1e17},
    HardwareField{"bf16", &Hardware::bf16_flops, kFlops, 1e10, 1e18},
    HardwareField{"fp8", &Hardware::fp8_flops, kFlops, 1e10, 1e18},
    HardwareField{"fp4", &Hardware::fp4_flops, kFlops, 1e10, 1e18},
    HardwareField{"link", &Hardware::link_bytes_per_s, kRates, 1e8, 1e14},
    HardwareField{"multiprocessors", &Hardware::multiprocessors, kCounts, 1, 1e5},
    HardwareField{"exp", &Hardware::exp_per_s, kExps, 1e9, 1e16},
    HardwareField{"l2", &Hardware::l2_bytes, kSizes, 1e4, 1e11},
    HardwareField{"last_level_cache", &Hardware::last_level_cache_bytes, kSizes, 1e4, 1e12},
    HardwareField{"shared_memory", &Hardware::shared_memory_bytes, kSizes, 1024, 1e8},
};

}  // namespace headwise
