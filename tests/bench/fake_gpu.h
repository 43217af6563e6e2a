#pragma once

#include <map>
#include <memory>

#include "bench/gpu.h"
#include "headwise/machine.h"

namespace headwise::bench {

/// A GPU made of host memory, whose time passes only by what runs on it.
class FakeGpu final : public Gpu {
 public:
  static constexpr double kRead = 2e10;     // bytes a second
  static constexpr double kCopy = 3e9;      // read and written
  static constexpr double kProduct = 1e12;  // FLOP/s

  explicit FakeGpu(std::int64_t memory = 1 << 30) : memory_(memory) {}

  /// What kernels of backends do: they take so long.
  void run(double seconds);

  double mhz = 1000.0;
  bool has_products = true;
  bool breaks = false;      ///< the next wait() fails
  bool can_capture = true;  ///< else capture() fails
  int launches = 0;         ///< outside graphs
  int captured = 0;         ///< launches in the last graph
  int replays = 0;
  int forgotten = 0;  ///< calls of forget_failure()

  Device device() const override { return {DeviceType::cuda, 0}; }
  std::string driver() const override { return "1.2"; }
  void* stream() override { return this; }
  std::shared_ptr<void> allocate(std::int64_t bytes) override;
  std::int64_t free_bytes() override { return memory_ - *used_; }
  void copy_to_device(void* to, const void* from, std::int64_t bytes) override;
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override;
  void set_bytes(void* to, std::byte value, std::int64_t bytes) override;
  void fill_random(void* to, const RandomTable& table, std::int64_t count,
                   std::uint64_t seed) override;
  void fill_outliers(void* to, const RandomTable& table, const OutlierRows& outliers,
                     std::uint64_t seed) override;
  void wait() override;
  void forget_failure() override { ++forgotten; }
  void mark(int number) override { marks_[number] = now_; }
  double seconds_between(int from, int to) override { return marks_.at(to) - marks_.at(from); }
  std::unique_ptr<GpuGraph> capture(const std::function<void()>& launch) override;
  double clock_mhz() override { return mhz; }
  void copy(void*, const void*, std::int64_t bytes) override {
    run(2.0 * static_cast<double>(bytes) / kCopy);
  }
  void read(const void*, std::int64_t bytes, int blocks) override;
  std::function<void()> product(DType type, std::int64_t n) override;

 private:
  friend class FakeGraph;
  std::int64_t memory_;
  std::shared_ptr<std::int64_t> used_ = std::make_shared<std::int64_t>(0);
  double now_ = 0.0;
  double* capturing_ = nullptr;  // seconds so far
  std::map<int, double> marks_;
};

/// A machine with such a GPU: one multiprocessor of compute capability 8.0.
Machine machine_with_fake_gpu();

}  // namespace headwise::bench
