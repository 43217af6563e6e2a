#include "cli/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "core/check.h"

namespace headwise::cli {
namespace {

/// A new file that is gone again unless it was kept.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path beside)
      : target_(std::move(beside)), path_(target_.string() + ".XXXXXX") {
    file_ = mkostemp(path_.data(), O_CLOEXEC);
    if (file_ >= 0) is_there_ = true;
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_ >= 0) ::close(file_);
    if (is_there_) ::unlink(path_.c_str());
  }

  bool is_open() const { return file_ >= 0; }

  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t done = ::write(file_, text.data(), text.size());
      if (done < 0 && errno != EINTR) return false;
      if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

  /// Readable as a file that a program creates: mkostemp's are the owner's alone.
  bool keep() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file_, 0666 & ~mask) != 0 || ::fsync(file_) != 0) return false;
    if (::close(std::exchange(file_, -1)) != 0) return false;
    if (::rename(path_.c_str(), target_.c_str()) != 0) return false;
    is_there_ = false;
    return true;
  }

 private:
  std::filesystem::path target_;
  std::string path_;
  int file_ = -1;
  bool is_there_ = false;
};

void check_link(const std::filesystem::path& path, bool is_there) {
  std::error_code ignored;
  check(is_there || !std::filesystem::is_symlink(path, ignored), "cannot write ", path.string(),
        ": the link leads nowhere");
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  check_link(path, is_there);
  const bool opens =
      is_there ? static_cast<bool>(std::ofstream(path, std::ios::app)) : Temporary(path).is_open();
  const int reason = errno;
  check(opens, "cannot write ", path.string(), ": ", std::strerror(reason));
}

void write_whole(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  bool is_written = false;
  if (is_there && !std::filesystem::is_regular_file(path, ignored)) {
    std::ofstream device(path);  // nothing can be put in its place
    device << text << std::flush;
    is_written = static_cast<bool>(device);
  } else {
    // Of a link the file that it leads to is replaced, not the link.
    check_link(path, is_there);
    const bool is_link = std::filesystem::is_symlink(path, ignored);
    Temporary file(is_link ? std::filesystem::canonical(path) : path);
    is_written = file.is_open() && file.write(text) && file.keep();
  }
  const int reason = errno;
  check(is_written, "cannot write ", path.string(), ": ", std::strerror(reason));
}

}  // namespace headwise::cli
