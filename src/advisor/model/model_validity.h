#pragma once

#include <string>

#include "advisor/model/model_description.h"

namespace headwise {

/// One sentence, or empty: a count out of range (description_limits.h), or heads that do not divide
/// what they share. Readers and changes of a model ask it alike.
std::string why_invalid(const ModelDescription& model);

}  // namespace headwise
