// Captured graphs replay for other lengths.

#include <gtest/gtest.h>

#include <memory>

#include "headwise/plan.h"
#include "tests/conformance/backend_choice.h"
#include "tests/cuda/append_replays.h"
#include "tests/cuda/captured_graph.h"
#include "tests/cuda/replays.h"

namespace headwise::conformance {
namespace {

std::function<void()> captured_launches(const std::function<void(void*)>& launches) {
  const auto graph = std::make_shared<CapturedGraph>(launches);
  return [graph] { graph->replay(); };
}

std::function<void()> captured(Plan& plan, const RunArgs& args) {
  return captured_launches([&](void* stream) {
    RunArgs own = args;
    own.stream = stream;
    plan.run(own);
  });
}

std::function<void()> not_captured(Plan& plan, const RunArgs& args) {
  return [&plan, args] { plan.run(args); };
}

template <class Body>
void for_each_gpu_backend(const Body& body) {
  for (const Backend* backend : chosen_backends()) {
    SCOPED_TRACE(std::string(backend->name()));
    if (backend->device_type() == DeviceType::cuda) body(*backend);
  }
}

/// cuda-standard launches request after request, as the host's lengths say.
bool recaptures(const Backend& backend) { return backend.name() == "cuda-standard"; }

TEST(Graph, ReplaysForOtherSteps) {
  for_each_gpu_backend([](const Backend& backend) {
    expect_replays_for_other_steps(backend, captured, recaptures(backend));
  });
}

TEST(Graph, ReplaysForOtherLengthsOnTheDevice) {
  for_each_gpu_backend(
      [](const Backend& backend) { expect_lengths_from_the_device(backend, captured); });
}

TEST(Graph, PlainRunsTakeLengthsFromTheDevice) {
  for_each_gpu_backend(
      [](const Backend& backend) { expect_lengths_from_the_device(backend, not_captured); });
}

TEST(Graph, AppendsForOtherLengthsOnTheDevice) {
  for_each_gpu_backend(
      [](const Backend& backend) { expect_appends_for_other_lengths(backend, captured_launches); });
}

}  // namespace
}  // namespace headwise::conformance
