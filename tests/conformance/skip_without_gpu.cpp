// Linked into test programs: where HEADWISE_BACKENDS leaves nothing that can run here, all tests
// are skipped, with the reason.

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/conformance/backend_choice.h"

namespace headwise::conformance {
namespace {

class SkipWithoutGpu : public testing::Environment {
 public:
  void SetUp() override {
    const std::string why = why_nothing_can_run();
    if (why.empty()) return;
    std::printf("skipped: %s\n", why.c_str());
    GTEST_SKIP() << why;
  }
};

const testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new SkipWithoutGpu);

}  // namespace
}  // namespace headwise::conformance
