#include <cuda_runtime_api.h>

#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "bench/gpu.h"
#include "bench/gpu_kernels.cuh"
#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/memory.h"
#include "cuda/standard/product.h"

namespace headwise::bench {
namespace {

using cuda::check_call;
using cuda::DeviceBuffer;
using cuda::standard::BlasLt;
using cuda::standard::Product;
using cuda::standard::ProductSize;

/// "580.159.04" from "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...".
std::string kernel_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
        word.find('.') != std::string::npos)
      return word;
  return "of unknown version";
}

/// CUDA's 13000 is "13.0".
std::string cuda_version(int number) { return concat(number / 1000, ".", number % 1000 / 10); }

class CudaGraph final : public GpuGraph {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check_call(status, "instantiating a graph");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(graph_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void launch() override { check_call(cudaGraphLaunch(graph_, stream_), "replaying a graph"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
  cudaStream_t stream_;
};

/// Two square matrices and their product.
struct Multiplication {
  DeviceBuffer a, b, c, workspace;
  Product product;

  static constexpr std::int64_t kWorkspace = 64 << 20;

  Multiplication(const BlasLt& blas, int device, DType type, std::int64_t n)
      : a(device, n * n * size_of(type)),
        b(device, n * n * size_of(type)),
        c(device, n * n * size_of(DType::f32)),
        workspace(device, kWorkspace),
        product(blas, device,
                ProductSize{.type = type,
                            .b_transposed = true,
                            .batch = 1,
                            .m = n,
                            .n = n,
                            .k = n,
                            .a_row = n,
                            .b_row = n,
                            .c_row = n,
                            .a_batch = n * n,
                            .b_batch = n * n,
                            .c_batch = n * n},
                kWorkspace) {}
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int index) : index_(index) {
    check_call(cudaSetDevice(index), concat("cuda:", index));
    check_call(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    check_call(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index),
               concat("cuda:", index));
    small_ = DeviceBuffer(index, 256);
  }
  ~CudaGpu() override {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  Device device() const override { return {DeviceType::cuda, index_}; }
  void* stream() override { return stream_; }

  std::string driver() const override {
    int driver = 0;
    int runtime = 0;
    check_call(cudaDriverGetVersion(&driver), "the driver's version");
    check_call(cudaRuntimeGetVersion(&runtime), "the runtime's version");
    return concat(kernel_driver(), ", CUDA ", cuda_version(driver), ", runtime ",
                  cuda_version(runtime));
  }

  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    const auto buffer = std::make_shared<DeviceBuffer>(index_, bytes);
    return {buffer, buffer->data()};
  }

  std::int64_t free_bytes() override { return cuda::free_bytes(index_); }

  void copy_to_device(void* to, const void* from, std::int64_t bytes) override {
    copy_and_wait(to, from, bytes, cudaMemcpyHostToDevice, "copying to the device");
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override {
    copy_and_wait(to, from, bytes, cudaMemcpyDeviceToHost, "copying from the device");
  }

  void set_bytes(void* to, std::byte value, std::int64_t bytes) override {
    check_call(
        cudaMemsetAsync(to, std::to_integer<int>(value), static_cast<std::size_t>(bytes), stream_),
        "filling memory of the device");
  }

  void fill_random(void* to, const RandomTable& table, std::int64_t count,
                   std::uint64_t seed) override {
    launch_fill(to, on_device(table), table.element, count, seed, stream_);
    cuda::check_launch("filling with random numbers");
  }

  void fill_outliers(void* to, const RandomTable& table, const OutlierRows& outliers,
                     std::uint64_t seed) override {
    launch_fill_outliers(to, on_device(table), table.element, outliers, seed, stream_);
    cuda::check_launch("filling with outliers");
  }

  void wait() override { check_call(cudaStreamSynchronize(stream_), "waiting for the device"); }

  void forget_failure() override { cudaGetLastError(); }

  void mark(int number) override {
    while (static_cast<int>(events_.size()) <= number) {
      cudaEvent_t event = nullptr;
      check_call(cudaEventCreate(&event), "an event");
      events_.push_back(event);
    }
    check_call(cudaEventRecord(event(number), stream_), "recording an event");
  }

  double seconds_between(int from, int to) override {
    check_call(cudaEventSynchronize(event(to)), "waiting for the device");
    float milliseconds = 0.0F;
    check_call(cudaEventElapsedTime(&milliseconds, event(from), event(to)), "reading events");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  std::unique_ptr<GpuGraph> capture(const std::function<void()>& launches) override {
    check_call(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "beginning a capture");
    cudaGraph_t graph = nullptr;
    try {
      launches();
    } catch (...) {
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      forget_failure();
      throw;
    }
    check_call(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    return std::make_unique<CudaGraph>(graph, stream_);
  }

  double clock_mhz() override {
    launch_clock(small_.as<ClockReading>(), stream_);
    cuda::check_launch("measuring the clock");
    ClockReading reading{};
    copy_to_host(&reading, small_.data(), sizeof(reading));
    return 1e3 * static_cast<double>(reading.cycles) / static_cast<double>(reading.nanoseconds);
  }

  void copy(void* to, const void* from, std::int64_t bytes) override {
    check_call(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                               stream_),
               "copying on the device");
  }

  void read(const void* from, std::int64_t bytes, int blocks) override {
    launch_read(from, bytes, blocks * multiprocessors_, small_.data(), stream_);
    cuda::check_launch("reading");
  }

  std::function<void()> product(DType type, std::int64_t n) override {
    const BlasLt* blas = BlasLt::find();
    if (blas == nullptr) return {};
    const auto all = std::make_shared<Multiplication>(*blas, index_, type, n);
    fill_random(all->a.data(), normal_table(type), n * n, 1);
    fill_random(all->b.data(), normal_table(type), n * n, 2);
    return [this, all] {
      all->product.run(all->a.data(), all->b.data(), all->c.as<float>(), all->workspace.data(),
                       stream_);
    };
  }

 private:
  /// Copied there when it is first asked for.
  const void* on_device(const RandomTable& table) {
    DeviceBuffer& there = tables_[table.entries];
    if (there.size() == 0) {
      there = DeviceBuffer(index_, RandomTable::kEntries * table.element);
      copy_to_device(there.data(), table.entries, there.size());
    }
    return there.data();
  }

  cudaEvent_t event(int number) const { return events_[static_cast<std::size_t>(number)]; }

  void copy_and_wait(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                     const char* what) {
    check_call(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream_), what);
    check_call(cudaStreamSynchronize(stream_), what);
  }

  int index_;
  int multiprocessors_ = 0;
  cudaStream_t stream_ = nullptr;
  DeviceBuffer small_;  // what probes write
  std::vector<cudaEvent_t> events_;
  std::map<const void*, DeviceBuffer> tables_;
};

}  // namespace

std::unique_ptr<Gpu> open_gpu(int index) { return std::make_unique<CudaGpu>(index); }

}  // namespace headwise::bench
