#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {

/// Calls `body(backend)` for every chosen backend, `reference` included, that can do the case; says
/// which cannot and why. Ends the program where the GPU broke: nothing after it could run.
template <class Body>
void for_each_able_backend(const Case& c, const Body& body) {
  for (const Backend* backend : chosen_backends()) {
    const std::string where = std::string(backend->name()) + ": " + to_string(c.recipe());
    SCOPED_TRACE(where);
    const Support support = explain(*backend, c);
    if (!support) {
      std::printf("%s refused: %s\n", backend->name().data(), support.why_not.c_str());
      continue;
    }
    try {
      body(*backend);
    } catch (const DeviceFault& fault) {
      std::printf("the GPU failed in %s: %s\n%s\n",
                  testing::UnitTest::GetInstance()->current_test_info()->name(), fault.what(),
                  where.c_str());
      std::fflush(stdout);
      std::_Exit(EXIT_FAILURE);
    }
  }
}

/// The same for backends of the CPU, for tests whose memory cannot be copied to a GPU.
template <class Body>
void for_each_able_cpu_backend(const Case& c, const Body& body) {
  for_each_able_backend(c, [&](const Backend& backend) {
    if (backend.device_type() == DeviceType::cpu) body(backend);
  });
}

/// Every chosen backend that can do the recipe's case meets the bounds on it.
inline void expect_bounds(const Recipe& recipe) {
  const Case c(recipe);
  const Outputs exact = reference_answer(c);
  for_each_able_backend(c, [&](const Backend& backend) {
    Outputs got = own_outputs(c);
    run(backend, c, got);
    EXPECT_EQ(fault_in(c, exact, got), "");
  });
}

}  // namespace headwise::conformance
