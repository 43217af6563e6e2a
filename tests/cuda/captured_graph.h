#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "cuda/runtime/check.h"
#include "tests/conformance/placed_step.h"

namespace headwise::conformance {

/// A stream beside the default one, and a graph captured on it.
class CapturedGraph {
 public:
  explicit CapturedGraph(const std::function<void(void* stream)>& launches) {
    using cuda::check_call;
    check_call(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    finish_on_device();  // this stream does not wait for what plans copy on theirs
    launches(stream_);   // loads the kernels
    finish_on_device();
    cudaGraph_t graph = nullptr;
    // Strict: what allocates, synchronises or waits among the launches ends the capture.
    check_call(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "beginning a capture");
    launches(stream_);
    check_call(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    check_call(cudaGraphInstantiate(&graph_, graph, 0), "instantiating a graph");
    check_call(cudaGraphDestroy(graph), "freeing a graph");
  }
  ~CapturedGraph() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void replay() const { cuda::check_call(cudaGraphLaunch(graph_, stream_), "replaying a graph"); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace headwise::conformance
