#pragma once

namespace headwise::cli {

/// Warns of each HEADWISE_* variable in the environment that nothing reads: a misspelt one must not
/// go unnoticed.
void warn_of_unknown_variables();

}  // namespace headwise::cli
