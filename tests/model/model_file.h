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

/// A file of that folder; nothing if it is not there.
inline std::optional<std::filesystem::path> find_model_file(const char* name) {
  const auto file = model_folder() / name;
  return std::filesystem::is_regular_file(file) ? std::optional(file) : std::nullopt;
}

/// The SmolLM2 file that the tests of real input use; nothing if it is not there.
inline std::optional<std::filesystem::path> find_model_file() {
  return find_model_file("SmolLM2-135M-Instruct.Q4_1.gguf");
}

}  // namespace headwise

/// Sets `path`, or skips the test and says why.
#define HEADWISE_NAMED_MODEL_OR_SKIP(path, name)                           \
  const auto path##_found = ::headwise::find_model_file(name);             \
  if (!path##_found) {                                                     \
    GTEST_SKIP() << (name) << " is not in " << ::headwise::model_folder(); \
  }                                                                        \
  const std::filesystem::path& path = *path##_found
#define HEADWISE_MODEL_FILE_OR_SKIP(path) \
  HEADWISE_NAMED_MODEL_OR_SKIP(path, "SmolLM2-135M-Instruct.Q4_1.gguf")
#define HEADWISE_GEMMA_FILE_OR_SKIP(path) \
  HEADWISE_NAMED_MODEL_OR_SKIP(path, "gemma-3-270m-q4_k_m.gguf")
