#include "advisor/device/system_name.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include "advisor/device/hardware.h"
#include "core/check.h"

namespace headwise {
namespace {

/// "NVIDIA A100-SXM4-80GB" is nvidia, a100, sxm4, 80gb; what stands in brackets is left out.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  int brackets = 0;
  for (const char c : text + " ") {
    if (c == '(') ++brackets;
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && brackets == 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!word.empty())
      words.push_back(std::exchange(word, ""));
    if (c == ')' && brackets > 0) --brackets;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "_") + word;
  return text;
}

}  // namespace

std::string hardware_file_of(const GpuInfo& gpu) {
  std::vector<std::string> words = words_of(gpu.name);
  std::ranges::sort(words);
  for (const std::filesystem::path& file : list_hardware()) {
    std::vector<std::string> name = words_of(file.stem().string());
    std::ranges::sort(name);
    if (std::ranges::includes(words, name)) return file.stem().string();
  }
  return {};
}

std::string system_name(const GpuInfo& gpu) {
  const std::string known = hardware_file_of(gpu);
  return known.empty() ? joined(words_of(gpu.name)) : known;
}

std::string system_name(const CpuInfo& cpu, int threads) {
  return joined(words_of(concat(cpu.name, " ", threads, threads == 1 ? " thread" : " threads")));
}

}  // namespace headwise
