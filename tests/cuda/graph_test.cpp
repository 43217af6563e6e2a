// Captured graphs replay for other lengths.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>

#include "cuda/runtime/check.h"
#include "headwise/plan.h"
#include "tests/conformance/backend_choice.h"
#include "tests/conformance/placed_step.h"
#include "tests/cuda/replays.h"

namespace headwise::conformance {
namespace {

using cuda::check_call;

/// A stream beside the default one, and a graph captured on it.
class CapturedRun {
 public:
  CapturedRun(Plan& plan, RunArgs args) {
    check_call(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    args.stream = stream_;
    plan.run(args);  // loads the kernels
    finish_on_device();
    cudaGraph_t graph = nullptr;
    // Strict: what allocates, synchronises or waits in run() ends the capture.
    check_call(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "beginning a capture");
    plan.run(args);
    check_call(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    check_call(cudaGraphInstantiate(&graph_, graph, 0), "instantiating a graph");
    check_call(cudaGraphDestroy(graph), "freeing a graph");
  }
  ~CapturedRun() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;

  void replay() const { check_call(cudaGraphLaunch(graph_, stream_), "replaying a graph"); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

std::function<void()> captured(Plan& plan, const RunArgs& args) {
  const auto run = std::make_shared<CapturedRun>(plan, args);
  return [run] { run->replay(); };
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

}  // namespace
}  // namespace headwise::conformance
