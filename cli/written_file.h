#pragma once

#include <string>

namespace headwise::cli {

/// Throws Error where the file cannot be written; keeps what is there. Called before long work, so
/// that a wrong path does not cost its results.
void check_writable(const std::string& path);

/// Throws Error that names the file.
void write_file(const std::string& path, const std::string& text);

}  // namespace headwise::cli
