#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace headwise {

/// The lines of scripts/token_oracle/lines.py, which the reference tokenizers were given.
inline std::vector<std::string> test_lines() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen(HEADWISE_PYTHON " " HEADWISE_SCRIPTS "/token_oracle/lines.py", "r"), pclose);
  if (pipe == nullptr) throw std::runtime_error("cannot run " HEADWISE_PYTHON);
  std::vector<std::string> lines;
  std::uint32_t bytes = 0;
  while (std::fread(&bytes, sizeof bytes, 1, pipe.get()) == 1) {
    std::string line(bytes, '\0');
    if (std::fread(line.data(), 1, bytes, pipe.get()) != bytes) break;
    lines.push_back(std::move(line));
  }
  return lines;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace headwise
