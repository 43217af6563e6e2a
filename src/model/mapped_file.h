#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace headwise {

/// A regular file mapped for reading. The bytes stay put when the object is moved.
class MappedFile {
 public:
  /// Throws Error naming the path: absent, unreadable, a directory or other special file, empty.
  explicit MappedFile(std::filesystem::path path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace headwise
