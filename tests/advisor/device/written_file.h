#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headwise {

/// A file in a new folder that lives as long as the object.
class WrittenFile {
 public:
  WrittenFile(const std::string& name, const std::string& text) {
    std::string pattern = testing::TempDir() + "advisor.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(path(name)) << text;
    name_ = name;
  }
  WrittenFile(const WrittenFile&) = delete;
  ~WrittenFile() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path() const { return path(name_); }

 private:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
  std::string name_;
};

/// `text` with its first `from` made `to`.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace headwise
