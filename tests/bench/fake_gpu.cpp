#include "tests/bench/fake_gpu.h"

#include <cstring>

#include "bench/buffer.h"
#include "headwise/error.h"

namespace headwise::bench {

class FakeGraph final : public GpuGraph {
 public:
  FakeGraph(FakeGpu& gpu, double seconds) : gpu_(gpu), seconds_(seconds) {}
  void launch() override {
    ++gpu_.replays;
    gpu_.now_ += seconds_;
  }

 private:
  FakeGpu& gpu_;
  double seconds_;
};

void FakeGpu::run(double seconds) {
  if (capturing_ != nullptr) {
    *capturing_ += seconds;
    ++captured;
    return;
  }
  now_ += seconds;
  ++launches;
}

std::shared_ptr<void> FakeGpu::allocate(std::int64_t bytes) {
  if (bytes > free_bytes()) throw Error(ErrorCode::not_possible, "the fake GPU is full");
  *used_ += bytes;
  const auto buffer = std::make_shared<Buffer>(bytes);
  const auto free = [buffer, bytes, used = used_](void*) { *used -= bytes; };
  return {static_cast<void*>(buffer->data()), free};
}

void FakeGpu::copy_to_device(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void FakeGpu::copy_to_host(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void FakeGpu::set_bytes(void* to, std::byte value, std::int64_t bytes) {
  std::memset(to, std::to_integer<int>(value), static_cast<std::size_t>(bytes));
}

void FakeGpu::fill_random(void* to, const RandomTable& table, std::int64_t count,
                          std::uint64_t seed) {
  bench::fill_random(to, table, 0, count, seed);
}

void FakeGpu::fill_outliers(void* to, const RandomTable& table, const OutlierRows& outliers,
                            std::uint64_t seed) {
  bench::fill_outliers(to, table, outliers, seed);
}

void FakeGpu::wait() {
  if (breaks) throw Error(ErrorCode::not_possible, "an illegal memory access");
}

std::unique_ptr<GpuGraph> FakeGpu::capture(const std::function<void()>& launch) {
  if (!can_capture) throw Error(ErrorCode::not_possible, "it cannot be captured");
  double seconds = 0.0;
  captured = 0;
  capturing_ = &seconds;
  launch();
  capturing_ = nullptr;
  return std::make_unique<FakeGraph>(*this, seconds);
}

/// Few blocks do not keep its memory busy.
void FakeGpu::read(const void*, std::int64_t bytes, int blocks) {
  run(static_cast<double>(bytes) / kRead * (blocks < 4 ? 1.5 : 1.0));
}

std::function<void()> FakeGpu::product(DType type, std::int64_t n) {
  if (!has_products) return {};
  const auto size = static_cast<double>(n);
  const double seconds = 2.0 * size * size * size / kProduct * (type == DType::f32 ? 8.0 : 1.0);
  return [this, seconds] { run(seconds); };
}

Machine machine_with_fake_gpu() {
  Machine machine = this_machine();
  machine.gpus = {{.name = "Fake",
                   .compute_capability = 80,
                   .shared_memory_per_block = 166912,
                   .multiprocessors = 1,
                   .memory_bytes = 1 << 30,
                   .l2_bytes = 1 << 20,
                   .memory_bytes_per_second = 25'000'000'000,
                   .clock_mhz = 1200}};
  return machine;
}

}  // namespace headwise::bench
