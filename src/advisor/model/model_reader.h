#pragma once

#include <string_view>

#include "advisor/model/model_description.h"

namespace headwise {

/// The model in a config.json as transformers writes it: of the families that config_family.h
/// knows, else of any that spells its fields as they do; of one for images, the text model. What
/// the file does not hold is among the assumptions, or is asked for: throws Error, one line that
/// names the field, if it is missing, out of range, contradicts another, or is not understood and
/// tells of attention, layers or feed-forward.
ModelDescription read_model_description(std::string_view config_json);

}  // namespace headwise
