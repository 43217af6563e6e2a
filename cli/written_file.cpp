#include "cli/written_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/check.h"

namespace headwise::cli {
namespace {

[[noreturn]] void fail_to_write(const std::string& path) {
  throw Error(ErrorCode::invalid_input, concat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace

void check_writable(const std::string& path) {
  if (!std::ofstream(path, std::ios::app)) fail_to_write(path);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail_to_write(path);
}

}  // namespace headwise::cli
