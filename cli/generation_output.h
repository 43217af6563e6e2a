#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "engine/generation.h"

namespace headwise::cli {

/// Progress of the prompt on stderr, the text as it comes on stdout if it is wanted; ends where the
/// user interrupts.
GenerateEvents events_for(bool print_text);

/// The run's document: the times of the first turn, what the last one knows of the whole run, and
/// all turns.
nlohmann::json json_of(std::span<const Generation> turns);

/// The same numbers, for people.
void print_table(std::span<const Generation> turns);
/// "120 of 160 tokens reused; first token after 85.2 ms, then 12.1 ms a token".
std::string summary_of(const Generation& generation);

}  // namespace headwise::cli
