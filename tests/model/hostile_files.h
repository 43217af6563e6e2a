#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headwise {

/// A model file or folder that must be refused.
struct HostileFile {
  std::string what;
  std::string opened;   ///< below the folder: what a user would name; "" is the folder itself
  std::string message;  ///< what the error says behind the folder's path
  std::function<void(const std::filesystem::path& folder)> write;  ///< into an empty folder
};

std::vector<HostileFile> hostile_gguf_files();
std::vector<HostileFile> hostile_hf_files();       ///< config.json, safetensors, their index
std::vector<HostileFile> hostile_special_files();  ///< what is no regular file, or empty

std::vector<HostileFile> all_hostile_files();

}  // namespace headwise
