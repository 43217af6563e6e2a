#pragma once

#include <string>
#include <vector>

#include "tests/attention/bad_input_world.h"

namespace headwise::bad_input {

enum class Kind { paged, packed, int8, prefix };

struct Entry {
  const char* what;
  Kind kind;
  void (*spoil)(World&);                 ///< before planning, or
  void (*spoil_args)(World&, RunArgs&);  ///< between planning and running
  std::vector<std::string> words;        ///< that the error holds
};

/// Every field that can be wrong, one at a time.
std::vector<Entry> all_entries();

}  // namespace headwise::bad_input
