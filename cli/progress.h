#pragma once

#include <string_view>

namespace headwise::cli {

/// One line on stderr that the next one overwrites, cut to the terminal's width; nothing where
/// stderr is no terminal.
void show_progress(std::string_view line);
/// Wipes the line, so that something else can be written there.
void clear_progress();

}  // namespace headwise::cli
