#pragma once

#include "model/model_config.h"

namespace headwise {

class GgufFile;

/// The configuration of a llama (Mistral's too), qwen2, qwen3 or gemma3 file. Throws Error, one
/// line that names the file and the key at fault: another architecture, a key that is missing or
/// out of range, or one of the architecture's keys that is not understood, since leaving it out
/// could change the result. Of tensors it looks at the few that stand for a key.
ModelConfig read_gguf_config(const GgufFile& file);

}  // namespace headwise
