#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "headwise/registry.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {

/// Calls `body(backend)` for every backend, `reference` included, that can do the case; says which
/// cannot and why.
template <class Body>
void for_each_able_backend(const Case& c, const Body& body) {
  for (const Backend* backend : Registry::builtin().backends()) {
    const std::string name(backend->name());
    SCOPED_TRACE(name + ": " + to_string(c.recipe()));
    if (const Support support = explain(*backend, c); support)
      body(*backend);
    else
      std::printf("%s refused: %s\n", name.c_str(), support.why_not.c_str());
  }
}

}  // namespace headwise::conformance
