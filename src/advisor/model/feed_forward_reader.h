#pragma once

#include <vector>

#include "advisor/model/config_family.h"
#include "advisor/model/model_fields.h"

namespace headwise {

/// [layers], as a config.json has it.
std::vector<FeedForward> read_feed_forward(ModelFields& fields, const ConfigFamily& family,
                                           int layers);

}  // namespace headwise
