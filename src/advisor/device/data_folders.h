#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Folders of the data files of one kind, "hardware" or "calibration", those that exist, in the
/// order in which they are searched: `own` unless it is empty, what was installed beside the
/// program, the source tree. Throws Error if `own` is no folder.
std::vector<std::filesystem::path> data_folders(std::string_view kind,
                                                const std::filesystem::path& own = {});

/// NAME.json of each folder, by name; an earlier folder's hides a later one's.
std::vector<std::filesystem::path> data_files(const std::vector<std::filesystem::path>& folders);

/// The file's text. Throws Error naming the path: absent, no regular file, longer than `most`.
std::string read_text(const std::filesystem::path& path, std::size_t most);

}  // namespace headwise
