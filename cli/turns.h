#pragma once

#include <string>
#include <vector>

namespace headwise::cli {

/// What `run --turns` plays: a conversation, or questions on one document.
struct Turns {
  std::string document;            ///< its text; empty: there is none
  std::vector<std::string> texts;  ///< at least one, none empty
};

/// Reads {"document": path, "turns": [text, ...]}; the document may be absent, its path is from the
/// file's folder on. Throws Error that names the file and what is wrong with it.
Turns read_turns(const std::string& path);

}  // namespace headwise::cli
