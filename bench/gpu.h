#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/random_fill.h"
#include "headwise/device.h"

namespace headwise::bench {

/// Launches that are replayed together.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  virtual void launch() = 0;  ///< on the GPU's stream
};

/// A GPU as bench uses it; tests have a fake one. Work runs in one stream, in the order of the
/// calls; "waits" means that the stream has done all of it when the call returns. Any call throws
/// Error(not_possible) with what CUDA says, which may be of earlier work.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual Device device() const = 0;
  virtual std::string driver() const = 0;  ///< "580.159.04, CUDA 13.0, runtime 13.0"
  virtual void* stream() = 0;              ///< a cudaStream_t

  virtual std::shared_ptr<void> allocate(std::int64_t bytes) = 0;  ///< aligned to 256 bytes
  virtual std::int64_t free_bytes() = 0;
  virtual void copy_to_device(void* to, const void* from, std::int64_t bytes) = 0;  ///< waits
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes) = 0;    ///< waits
  virtual void set_bytes(void* to, std::byte value, std::int64_t bytes) = 0;
  /// As the function of this name, from a tensor's first element on.
  virtual void fill_random(void* to, const RandomTable& table, std::int64_t count,
                           std::uint64_t seed) = 0;
  /// As the function of this name; some row may be an outlier (every > 0).
  virtual void fill_outliers(void* to, const RandomTable& table, const OutlierRows& outliers,
                             std::uint64_t seed) = 0;

  virtual void wait() = 0;
  /// Lets no later call be blamed for one that failed; a broken device stays broken.
  virtual void forget_failure() = 0;
  /// Notes the time at which the stream comes by, under a small number.
  virtual void mark(int number) = 0;
  virtual double seconds_between(int from, int to) = 0;  ///< waits
  /// What `launches` puts into the stream, kept instead of run.
  virtual std::unique_ptr<GpuGraph> capture(const std::function<void()>& launches) = 0;
  /// The multiprocessors' clock, measured by a kernel of some 0.1 ms. Waits.
  virtual double clock_mhz() = 0;

  // Probes, each a launch.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Reads `bytes`, a multiple of 16, with `blocks` blocks a multiprocessor.
  virtual void read(const void* from, std::int64_t bytes, int blocks) = 0;
  /// A launch of a product of square matrices of n rows, with operands of its own; null: there is
  /// no cuBLASLt.
  virtual std::function<void()> product(DType type, std::int64_t n) = 0;
};

/// Throws Error(not_possible): there is no such GPU, or this build has no CUDA.
std::unique_ptr<Gpu> open_gpu(int index);

}  // namespace headwise::bench
