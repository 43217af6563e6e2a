#include "advisor/engine_log/gpu_generation.h"

#include <cctype>

#include "core/check.h"

namespace headwise {
namespace {

struct Device {
  std::string_view name;  // words in capitals, a space between them
  int compute_capability;
};

constexpr Device kDevices[] = {
    {"V100", 70},         {"T4", 75},
    {"RTX 2080", 75},     {"QUADRO RTX", 75},
    {"A100", 80},         {"A800", 80},
    {"A30", 80},          {"A10", 86},
    {"A10G", 86},         {"A16", 86},
    {"A40", 86},          {"RTX A6000", 86},
    {"RTX A5000", 86},    {"RTX A4000", 86},
    {"RTX 3060", 86},     {"RTX 3070", 86},
    {"RTX 3080", 86},     {"RTX 3090", 86},
    {"L4", 89},           {"L20", 89},
    {"L40", 89},          {"L40S", 89},
    {"RTX 4060", 89},     {"RTX 4070", 89},
    {"RTX 4080", 89},     {"RTX 4090", 89},
    {"RTX 6000 ADA", 89}, {"H100", 90},
    {"H200", 90},         {"H800", 90},
    {"H20", 90},          {"GH200", 90},
    {"B100", 100},        {"B200", 100},
    {"GB200", 100},       {"B300", 103},
    {"GB300", 103},       {"RTX PRO 6000 BLACKWELL", 120},
    {"RTX 5060", 120},    {"RTX 5070", 120},
    {"RTX 5080", 120},    {"RTX 5090", 120},
    {"GB10", 121},
};

/// `name` in capitals, whatever stood between its words made one space, within spaces.
std::string words_of(std::string_view name) {
  std::string words = " ";
  for (const char c : name) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (part)
      words += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else if (words.back() != ' ')
      words += ' ';
  }
  return words + ' ';
}

}  // namespace

std::optional<int> compute_capability_of(std::string_view name) {
  const std::string words = words_of(name);
  for (const Device& device : kDevices)
    if (words.find(concat(" ", device.name, " ")) != std::string::npos)
      return device.compute_capability;
  return std::nullopt;
}

std::string name_of_generation(int compute_capability) {
  const int major = compute_capability / 10;
  const char* name = compute_capability == 75   ? "Turing"
                     : compute_capability == 89 ? "Ada"
                     : major == 7               ? "Volta"
                     : major == 8               ? "Ampere"
                     : major == 9               ? "Hopper"
                                                : "Blackwell";
  return concat(name, " (SM ", major, ".", compute_capability % 10, ")");
}

}  // namespace headwise
