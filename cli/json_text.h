#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headwise::cli {

/// `json` as commands print it. Bytes that are no UTF-8, which names of files may hold, are
/// replaced: a document is not lost for them.
inline std::string document_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headwise::cli
