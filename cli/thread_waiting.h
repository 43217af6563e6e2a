#pragma once

namespace headwise::cli {

/// Starts the program again with GOMP_SPINCOUNT set, unless the environment already says how
/// OpenMP's threads wait: libgomp reads it before main, and by default its threads spin for
/// milliseconds at every barrier, which makes each step many times slower wherever other work
/// shares the cores.
void keep_threads_from_spinning(char** argv);

}  // namespace headwise::cli
