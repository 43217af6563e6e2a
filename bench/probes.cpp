#include "bench/probes.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/buffer.h"
#include "bench/probe_kernels.h"
#include "core/signals_held.h"
#include "core/thread_scope.h"

namespace headwise::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The shortest run of `work` in about `seconds`, at least three runs, in seconds.
double shortest(double seconds, const std::function<void()>& work) {
  double best = 0.0;
  const double end = now() + seconds;
  for (int runs = 0; runs < 3 || now() < end; ++runs) {
    const double start = now();
    work();
    const double took = now() - start;
    best = runs == 0 ? took : std::min(best, took);
  }
  return best;
}

/// Memory past the last cache level, read in parts: one a thread at a time, long enough for a
/// thread's start not to count and short enough to fall between two turns of a neighbour.
class ReadProbe {
 public:
  ReadProbe(const CpuInfo& cpu, int threads, std::int64_t wanted) {
    constexpr std::int64_t kLeast = 256LL << 20;
    constexpr std::int64_t kMost = 4LL << 30;  // no cache is half as large
    const std::int64_t bytes =
        wanted > 0 ? wanted : std::clamp(2 * cpu.last_cache_bytes, kLeast, kMost);
    parts_ = std::max<std::int64_t>(1, bytes / (kPart * threads)) * threads;
    buffer_ = Buffer(parts_ * kPart);
    for (const ProbeKernels* kernels : all_probe_kernels())
      if (kernels->read != nullptr && kernels->runs_on(cpu)) read_ = kernels->read;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::int64_t part = 0; part < parts_; ++part)  // touched first by the thread that reads it
      std::memset(buffer_.data() + part * kPart, 1, static_cast<std::size_t>(kPart));
  }

  /// The best bytes a second of `threads` threads in about `seconds`.
  double rate(int threads, double seconds) const {
    std::uint64_t sum = 0;
    double best = 0.0;
    std::int64_t from = 0;
    for (const double end = now() + seconds; best == 0.0 || now() < end;) {
      double first = std::numeric_limits<double>::infinity();
      double last = 0.0;
#pragma omp parallel num_threads(threads) reduction(^ : sum) reduction(min : first) \
    reduction(max : last)
      {
#pragma omp barrier
        first = now();
        sum ^= read_(buffer_.data() + (from + omp_get_thread_num()) * kPart, kPart / kReadStreams);
        last = now();
      }
      best = std::max(best, static_cast<double>(kPart * threads) / (last - first));
      from = from + 2 * threads <= parts_ ? from + threads : 0;
    }
    const volatile std::uint64_t used = sum;
    (void)used;
    return best;
  }

 private:
  static constexpr std::int64_t kPart = 8LL << 20;  // bytes

  std::int64_t parts_ = 0;  // a multiple of the threads
  Buffer buffer_;
  std::uint64_t (*read_)(const std::byte*, std::int64_t) = nullptr;
};

double read_rate(const CpuInfo& cpu, int threads, const ProbeOptions& options) {
  const ReadProbe probe(cpu, threads, options.read_bytes);
  const double together = probe.rate(threads, options.seconds * 2.0 / 3.0);
  // On a busy machine all threads are seldom on at once; one alone is the better witness then.
  return std::max(together, probe.rate(1, options.seconds / 3.0));
}

/// Rounds of a register loop that take about two milliseconds.
std::int64_t rounds_of(float (*loop)(std::int64_t)) {
  constexpr double kWindow = 0.002;
  std::int64_t rounds = 1000;
  volatile float used = 0.0F;
  while (shortest(0.0, [&] { used = loop(rounds); }) < kWindow) rounds *= 2;
  return rounds;
}

/// FLOP/s of a register loop in all threads at once: the sum of their own rates, so that one that
/// starts late does not count against the units.
double register_rate(float (*loop)(std::int64_t), double flops_a_round, int threads,
                     double seconds) {
  const std::int64_t rounds = rounds_of(loop);
  double best = 0.0;
  float sum = 0.0F;
  for (const double end = now() + seconds; best == 0.0 || now() < end;) {
    double rate = 0.0;
#pragma omp parallel num_threads(threads) reduction(+ : rate, sum)
    {
#pragma omp barrier
      const double start = now();
      sum += loop(rounds);
      rate += flops_a_round * static_cast<double>(rounds) / (now() - start);
    }
    best = std::max(best, rate);
  }
  const volatile float used = sum;
  (void)used;
  return best;
}

/// FLOP/s of oneDNN's product of two square matrices, in the layout that it likes best.
double product_rate(dnnl::memory::data_type type, std::int64_t n, int threads, double seconds) {
  const SignalsHeld held;
  const ThreadScope guard(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc any({n, n}, type, dnnl::memory::format_tag::any);
  const dnnl::memory::desc result({n, n}, dnnl::memory::data_type::f32,
                                  dnnl::memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(any, any, result), engine);
  dnnl::memory a(description.src_desc(), engine);
  dnnl::memory b(description.weights_desc(), engine);
  dnnl::memory c(description.dst_desc(), engine);
  for (const dnnl::memory* operand : {&a, &b})  // 0x3c3c is an ordinary number in F32 and in BF16
    std::memset(operand->get_data_handle(), 0x3c, operand->get_desc().get_size());
  const dnnl::matmul product(description);
  const double best = shortest(seconds, [&] {
    product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  });
  const auto size = static_cast<double>(n);
  return 2.0 * size * size * size / best;
}

/// The best of a big product, to fill many cores, a smaller one, which may be over before a
/// neighbour's turn, and one thread alone, as in read_rate.
double best_product_rate(dnnl::memory::data_type type, int threads, const ProbeOptions& options) {
  const double third = options.seconds / 3.0;
  return std::max({product_rate(type, options.product_size, threads, third),
                   product_rate(type, options.product_size / 2, threads, third),
                   product_rate(type, options.product_size / 2, 1, third)});
}

}  // namespace

std::span<const ProbeKernels* const> all_probe_kernels() {
  static constexpr std::array<const ProbeKernels*, 5> kAll{
      &portable_probes, &avx2_probes, &avx512_probes, &avx512bf16_probes, &amx_probes};
  return kAll;
}

HardwareLimits MachineLimits::hardware() const {
  HardwareLimits limits;
  limits.read_bytes_per_s = read_bytes_per_s;
  limits.f32 = {.measured = f32_product, .peak = f32_fma};
  limits.f16 = limits.f32;
  limits.bf16 = {.measured = std::max(f32_product, bf16_product.value_or(0.0)),
                 .peak = std::max(f32_fma, bf16_dot.value_or(0.0))};
  limits.f8e4m3 = limits.bf16;
  return limits;
}

MachineLimits measure_limits(const Machine& machine, int threads, const ProbeOptions& options,
                             const std::function<void(std::string_view)>& progress) {
  const CpuInfo& cpu = machine.cpu;
  MachineLimits limits;
  limits.threads = threads;
  progress("measuring limits: read bandwidth");
  limits.read_bytes_per_s = read_rate(cpu, threads, options);
  progress("measuring limits: multiply-adds in registers");
  for (const ProbeKernels* kernels : all_probe_kernels()) {
    if (!kernels->runs_on(cpu)) continue;
    if (kernels->fma != nullptr)
      limits.f32_fma = std::max(limits.f32_fma, register_rate(kernels->fma, kernels->fma_flops,
                                                              threads, options.seconds / 2));
    if (kernels->dot != nullptr)
      limits.bf16_dot =
          std::max(limits.bf16_dot.value_or(0.0),
                   register_rate(kernels->dot, kernels->dot_flops, threads, options.seconds / 2));
  }
  progress("measuring limits: matrix products");
  limits.f32_product = best_product_rate(dnnl::memory::data_type::f32, threads, options);
  if (limits.bf16_dot)
    limits.bf16_product = best_product_rate(dnnl::memory::data_type::bf16, threads, options);
  return limits;
}

}  // namespace headwise::bench
