#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/check.h"

namespace headwise::cli {

void secure_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  // open() takes the lowest free number. A stdout that is open for reading only fails every write.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      (void)!open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

void flush_stdout() {
  errno = 0;
  std::cout.flush();
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  check(!lost, "cannot write to standard output",
        errno != 0 ? concat(": ", std::strerror(errno)) : "");
}

}  // namespace headwise::cli
