#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "advisor/device/calibration.h"
#include "headwise/dtype.h"

namespace headwise::bench {

struct ModelBenchOptions {
  std::int64_t longest = 0;      ///< context, in tokens; 0: the model's, at most 32k
  std::int64_t chunk = 512;      ///< tokens of a prefill step
  int threads = 0;               ///< 0: all that the process may run on
  std::optional<DType> kv_type;  ///< of the cache; absent: q's, as Runner has it
  int repeats = 4;               ///< of a step, at each place
  std::string_view command;      ///< that asks for it

  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };  ///< asked between steps
};

/// What the parts of a model's steps take on this CPU, by the engine's own steps: attention of each
/// layer group and the products by each matrix, in the mean of their layers, the output matrix also
/// as greedy decoding comes to have it, and the rest of a layer. Prefill steps and decodes run
/// behind contexts whose K and V are random numbers, so that no prompt is computed: at most two
/// prefill steps of a kind follow each other. Throws Error as Runner does, and
/// Error(not_possible) where it was stopped.
Calibration bench_model(const std::filesystem::path& model, const ModelBenchOptions& options);

}  // namespace headwise::bench
