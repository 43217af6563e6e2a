#pragma once

#include <cstdint>
#include <vector>

#include "advisor/model/config_family.h"
#include "advisor/model/model_fields.h"

namespace headwise {

enum class LayerType : std::uint8_t { full, windowed, chunked, linear };

/// [layers], from `layer_types` or by the family's rule, which is then an assumption. For patterns
/// of softmax and linear attention, not for MLA.
std::vector<LayerType> read_layer_types(ModelFields& fields, const ConfigFamily& family,
                                        int layers);

}  // namespace headwise
