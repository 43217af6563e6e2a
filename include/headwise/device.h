#pragma once

#include <cstdint>
#include <string>

namespace headwise {

enum class DeviceType : std::uint8_t { cpu, cuda };

/// Where memory lies and work runs.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;  ///< ordinal among devices of this type; 0 for the CPU

  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "cuda:0".
std::string to_string(const Device& device);

}  // namespace headwise
