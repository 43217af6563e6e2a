// headwise-cases DIR: every golden case of a folder through every backend, one line a backend.

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/golden_case.h"
#include "tests/conformance/placed_step.h"

namespace headwise::conformance {
namespace {

constexpr int kSkipped = 77;

/// The reference is the truth of all other tests, so its answers are also held, unrounded, to what
/// double precision gives.
std::string fault_of(const GoldenCase& one, const Backend& backend) {
  try {
    std::string fault = one.fault(backend, false, false);
    if (fault.empty() && backend.name() == "reference") fault = one.fault(backend, true, true);
    return fault;
  } catch (const DeviceFault& broken) {
    throw DeviceFault("the GPU failed in " + one.name() + " on " + std::string(backend.name()) +
                      ", and no later case can run: " + broken.what());
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Returns the number of failures.
int run_backend(const std::vector<GoldenCase>& cases, const Backend& backend) {
  const std::string name(backend.name());
  std::map<std::string, int> refused;
  int computed = 0;
  int failed = 0;
  for (const GoldenCase& one : cases) {
    if (const Support support = one.explain(backend, false); !support) {
      ++refused[support.why_not];
      continue;
    }
    ++computed;
    const std::string fault = fault_of(one, backend);
    if (fault.empty()) continue;
    ++failed;
    std::printf("%s: %s: %s\n", name.c_str(), one.name().c_str(), fault.c_str());
  }
  std::printf("%s: %d golden cases, %d failed", name.c_str(), computed, failed);
  for (const auto& [reason, count] : refused)
    std::printf("; refused %d: %s", count, reason.c_str());
  std::printf("\n");
  return failed;
}

int run_folder(const char* folder) {
  if (const std::string why = why_nothing_can_run(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return kSkipped;
  }
  const auto cases = golden_cases(folder);
  if (cases.empty()) {
    std::fprintf(stderr, "%s holds no cases\n", folder);
    return 1;
  }
  int failed = 0;
  for (const Backend* backend : chosen_backends()) failed += run_backend(cases, *backend);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace headwise::conformance

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: headwise-cases DIR\n");
    return 2;
  }
  try {
    return headwise::conformance::run_folder(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
