#include "cli/turns.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/model_options.h"
#include "core/check.h"

namespace headwise::cli {
namespace {

nlohmann::json parse(const std::string& path) {
  try {
    return nlohmann::json::parse(read_text(path));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::invalid_input, concat(path, ": ", error.what()));
  }
}

/// A document's path is from the file's own folder on.
std::string read_document(const std::string& path, const nlohmann::json& name) {
  check(name.is_string(), path, ": \"document\" is no path");
  const std::filesystem::path document =
      std::filesystem::path(path).parent_path() / name.get<std::string>();
  std::string text = read_text(document.string());
  check(!text.empty(), document.string(), " is empty");
  return text;
}

}  // namespace

Turns read_turns(const std::string& path) {
  const nlohmann::json json = parse(path);
  check(json.is_object() && json.contains("turns") && json["turns"].is_array() &&
            !json["turns"].empty(),
        path, ": \"turns\" is no list of texts");
  for (const auto& [key, value] : json.items())
    check(key == "turns" || key == "document", path, ": there is no \"", key,
          "\"; there are document, turns");
  Turns turns;
  for (const nlohmann::json& text : json["turns"]) {
    check(text.is_string() && !text.get<std::string>().empty(), path, ": turn ",
          turns.texts.size() + 1, " is no text");
    turns.texts.push_back(text);
  }
  if (json.contains("document")) turns.document = read_document(path, json["document"]);
  return turns;
}

}  // namespace headwise::cli
