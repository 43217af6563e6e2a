#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace headwise {
namespace {

std::span<const std::byte> map(const std::filesystem::path& path, int file) {
  struct stat status {};
  check(fstat(file, &status) == 0, path.string(), ": ", std::strerror(errno));
  check(!S_ISDIR(status.st_mode), path.string(), ": is a directory, not a model file");
  check(S_ISREG(status.st_mode), path.string(), ": is not a regular file");
  check(status.st_size > 0, path.string(), ": is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  check(address != MAP_FAILED, path.string(), ": cannot be mapped: ", std::strerror(errno));
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would hang.
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(file >= 0, path_.string(), ": ", std::strerror(errno));
  try {
    bytes_ = map(path_, file);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace headwise
