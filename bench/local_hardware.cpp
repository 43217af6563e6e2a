#include "bench/local_hardware.h"

#include <algorithm>

#include "advisor/device/system_name.h"
#include "core/check.h"
#include "headwise/version.h"

namespace headwise::bench {
namespace {

std::optional<Figure> measured(double value, const char* what) {
  return Figure{.value = value,
                .up_to = {},
                .source = FigureSource::measured,
                .origin = concat("headwise ", version(), ", ", what),
                .note = "",
                .others = {}};
}

std::optional<Figure> reported(std::int64_t value) {
  if (value <= 0) return std::nullopt;
  return Figure{.value = static_cast<double>(value),
                .up_to = {},
                .source = FigureSource::measured,
                .origin = "as the system reports it",
                .note = "",
                .others = {}};
}

Hardware of_cpu(const CpuInfo& cpu, const MachineLimits& limits) {
  Hardware hardware{.name = "local",
                    .system = system_name(cpu, limits.threads),
                    .title = concat(cpu.name, ", ", limits.threads, " threads"),
                    .kind = Hardware::Kind::cpu,
                    .note = instruction_sets(cpu),
                    .file = {}};
  hardware.memory_bytes_per_s = measured(limits.read_bytes_per_s, "read probe");
  hardware.memory_bytes = reported(cpu.memory_bytes);
  hardware.f32_flops = measured(limits.f32_product, "oneDNN's product in F32");
  const bool is_fast = limits.bf16_product.value_or(0.0) > limits.f32_product;
  hardware.bf16_flops = measured(
      limits.hardware().bf16.measured,
      is_fast ? "oneDNN's product in BF16" : "oneDNN's product in F32, the fastest for BF16 here");
  hardware.last_level_cache_bytes = reported(cpu.last_cache_bytes);
  hardware.lacks = {"fp8", "fp4"};
  return hardware;
}

Hardware of_gpu(const GpuInfo& gpu, const GpuLimits& limits) {
  Hardware hardware{.name = "local",
                    .system = system_name(gpu),
                    .title = gpu.name,
                    .kind = Hardware::Kind::gpu,
                    .note = "",
                    .file = {}};
  hardware.memory_bytes_per_s = measured(limits.read_bytes_per_s, "read probe");
  hardware.memory_bytes = reported(gpu.memory_bytes);
  if (limits.f32_product) hardware.f32_flops = measured(*limits.f32_product, "cuBLASLt's in F32");
  if (limits.bf16_product)
    hardware.bf16_flops = measured(*limits.bf16_product, "cuBLASLt's product in BF16");
  hardware.multiprocessors = reported(gpu.multiprocessors);
  hardware.l2_bytes = reported(gpu.l2_bytes);
  hardware.shared_memory_bytes = reported(gpu.shared_memory_per_block);
  return hardware;
}

}  // namespace

Hardware local_hardware(const Machine& machine, const LocalHardwareOptions& options) {
  if (!options.cpu_only && !machine.gpus.empty() && cuda_architectures() != "none") {
    const std::unique_ptr<Gpu> gpu = open_gpu(0);
    const GpuInfo& info = machine.gpus.front();
    return of_gpu(info, measure_gpu_limits(*gpu, info, options.gpu_probes, options.progress));
  }
  const int threads = options.threads > 0 ? options.threads : machine.cpu.threads;
  return of_cpu(machine.cpu, measure_limits(machine, threads, options.probes, options.progress));
}

}  // namespace headwise::bench
