#pragma once

namespace headwise::cli {

/// Forgets an earlier interrupt. From now on the first Ctrl-C, and the first SIGTERM, only set a
/// flag, for long work to end in order; the second one ends the program.
void catch_interrupt();
bool interrupted();
/// Whether it was SIGTERM: the program is to end, not just what it is doing.
bool told_to_end();

}  // namespace headwise::cli
