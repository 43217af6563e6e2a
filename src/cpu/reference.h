#pragma once

#include "headwise/backend.h"

namespace headwise {

/// The definition of attention written down in double precision: does everything, is fast at
/// nothing, and is what every other backend is judged by.
const Backend& reference_backend();

}  // namespace headwise
