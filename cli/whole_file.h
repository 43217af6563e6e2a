#pragma once

#include <filesystem>
#include <string_view>

namespace headwise::cli {

/// Throws Error where the file cannot be written; leaves all as it is. Called before long work, so
/// that a wrong path does not cost its results.
void check_writable(const std::filesystem::path& path);

/// Writes `text` to `path` whole or not at all: to a file beside it, which then takes its name;
/// a device is written to as it is.
/// Throws Error, one line with the path and the system's reason; what stood there stays.
void write_whole(const std::filesystem::path& path, std::string_view text);

}  // namespace headwise::cli
