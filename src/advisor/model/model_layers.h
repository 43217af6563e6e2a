#pragma once

#include <vector>

#include "advisor/model/model_description.h"

namespace headwise {

/// [layers], one by one.
std::vector<LayerDescription> layers_of(const ModelDescription& model);

/// The model with these layers: groups in the order in which they first stand.
void set_layers(ModelDescription& model, const std::vector<LayerDescription>& layers);

}  // namespace headwise
