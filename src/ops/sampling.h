#pragma once

#include <cstdint>
#include <span>

namespace headwise {

/// The index of the largest logit, the first among equals. Throws Error(invalid_input) where there
/// is none or one is NaN: a token from such logits would mean nothing.
std::int32_t argmax(std::span<const float> logits);

}  // namespace headwise
