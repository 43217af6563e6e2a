#include "advisor/device/data_folders.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <system_error>

#include "core/check.h"

namespace headwise {
namespace fs = std::filesystem;
namespace {

/// PREFIX/share/headwise of a program in PREFIX/bin.
fs::path installed_data() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "headwise";
}

}  // namespace

std::vector<fs::path> data_folders(std::string_view kind, const fs::path& own) {
  std::vector<fs::path> folders;
  std::error_code error;
  if (!own.empty()) {
    check(fs::is_directory(own, error), own.string(), ": is not a folder");
    folders.push_back(own);
  }
  for (const fs::path& data : {installed_data(), fs::path(HEADWISE_SOURCE_DATA)})
    if (fs::is_directory(data / kind, error)) folders.push_back(data / kind);
  return folders;
}

std::vector<fs::path> data_files(const std::vector<fs::path>& folders) {
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.path().extension() == ".json") files.emplace(entry.path().stem(), entry.path());
    check(!error, folder.string(), ": ", error.message());
  }
  std::vector<fs::path> paths;
  for (const auto& [name, path] : files) paths.push_back(path);
  return paths;
}

std::string read_text(const fs::path& path, std::size_t most) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  check(fs::exists(status), path.string(), ": there is no such file");
  check(fs::is_regular_file(status), path.string(), ": is not a regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  check(!error && size <= most, path.string(), ": is longer than ", most, " bytes");
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  check(bool(file), path.string(), ": ", std::strerror(errno));
  return text;
}

}  // namespace headwise
