#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/log.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kPrefix = "HEADWISE_";
constexpr std::array<std::string_view, 14> kKnown{
    "HEADWISE_BACKEND",    "HEADWISE_MODEL_DIR", "HEADWISE_SHARED_MEMORY_LIMIT",
    "HEADWISE_CASES",      "HEADWISE_SEED",      "HEADWISE_CASE",
    "HEADWISE_BACKENDS",   "HEADWISE_SHARD",     "HEADWISE_EXACT_MEMORY",
    "HEADWISE_GPU_PYTHON", "HEADWISE_FA3",       "HEADWISE_VLLM_FA3",
    "HEADWISE_FA4",        "HEADWISE_HARDWARE"};

}  // namespace

void warn_of_unknown_variables() {
  std::string known;
  for (const std::string_view name : kKnown) known += concat(known.empty() ? "" : ", ", name);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with(kPrefix)) continue;
    if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
    log(LogLevel::warning,
        concat("environment variable ", name, " is unknown and has no effect; there are ", known));
  }
}

}  // namespace headwise::cli
