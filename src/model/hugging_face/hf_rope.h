#pragma once

#include "model/json/json_fields.h"
#include "model/model_config.h"

namespace headwise {

/// The rotary positions of both kinds of layers, which are one and the same but for Gemma 3.
struct HfRopes {
  RopeConfig full;
  RopeConfig windowed;
};

/// From the fields rope_parameters, or rope_theta, rope_scaling and rope_local_base_freq of older
/// files; of `config` it looks at architecture, head_dim and context. Throws Error naming a field.
HfRopes read_hf_ropes(JsonFields& fields, const ModelConfig& config);

}  // namespace headwise
