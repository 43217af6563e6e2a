#pragma once

#include <string>
#include <vector>

#include "advisor/advice/guideline.h"
#include "advisor/advice/sweep.h"

namespace headwise {

/// A few lines a guideline.
std::string guidelines_text(const std::vector<Guideline>& guidelines);

/// A table, a line a value.
std::string sweep_text(const Sweep& sweep);

}  // namespace headwise
