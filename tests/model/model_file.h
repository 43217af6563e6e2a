#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace headwise {

/// The folder that models are kept in: $HEADWISE_MODEL_DIR, else headwise in the user's cache.
inline std::filesystem::path model_folder() {
  const auto set = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != 0 ? value : nullptr;
  };
  if (const char* folder = set("HEADWISE_MODEL_DIR")) return folder;
  if (const char* cache = set("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "headwise";
  if (const char* home = set("HOME")) return std::filesystem::path(home) / ".cache/headwise";
  return {};
}

/// The SmolLM2 file that the tests of real input use; nothing if it is not there.
inline std::optional<std::filesystem::path> find_model_file() {
  const auto file = model_folder() / "SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::is_regular_file(file) ? std::optional(file) : std::nullopt;
}

}  // namespace headwise

/// Sets `path`, or skips the test and says why.
#define HEADWISE_MODEL_FILE_OR_SKIP(path)                                                       \
  const auto path##_found = ::headwise::find_model_file();                                      \
  if (!path##_found) {                                                                          \
    GTEST_SKIP() << "SmolLM2-135M-Instruct.Q4_1.gguf is not in " << ::headwise::model_folder(); \
  }                                                                                             \
  const std::filesystem::path& path = *path##_found
