#pragma once

#include <vector>

#include "advisor/model/config_family.h"
#include "advisor/model/model_fields.h"

namespace headwise {

/// [layers], as a config.json has it.
std::vector<Attention> read_attention(ModelFields& fields, const ConfigFamily& family, int layers,
                                      int hidden);

}  // namespace headwise
