#include "headwise/registry.h"

#include <cstdlib>

#include "core/check.h"
#include "cpu/reference.h"
#include "cpu/standard.h"
#include "cpu/tiled/tiled_backends.h"
#include "cuda/cuda_backends.h"
#include "cuda/cuda_memory.h"

namespace headwise {
namespace {

std::string names_of(std::span<const Backend* const> backends) {
  std::string text;
  for (const Backend* backend : backends)
    text += (text.empty() ? "" : ", ") + std::string(backend->name());
  return text;
}

/// "backend x cannot: why; y and z can".
[[noreturn]] void refuse(const Backend& wish, const Support& support, const Problem& problem,
                         const Machine& machine, std::span<const Backend* const> backends) {
  std::string able;
  for (const Backend* backend : backends)
    if (backend->explain(problem, machine))
      able += (able.empty() ? "" : ", ") + std::string(backend->name());
  throw Error(ErrorCode::not_possible,
              concat("backend ", wish.name(), " cannot: ", support.why_not, "; ",
                     able.empty() ? "no backend can" : "possible here: " + able));
}

}  // namespace

const Registry& Registry::builtin() {
  static const Registry registry([] {
    std::vector<const Backend*> backends = cuda_backends();
    const std::vector<const Backend*> tiled = tiled_backends();
    backends.insert(backends.end(), tiled.begin(), tiled.end());
    backends.push_back(&standard_backend());
    backends.push_back(&reference_backend());
    return backends;
  }());
  return registry;
}

const DeviceMemory& memory_of(const Device& device) {
  return device.type == DeviceType::cuda ? cuda_memory(device.index) : cpu_memory();
}

const Backend& Registry::find(std::string_view name) const {
  for (const Backend* backend : backends_)
    if (backend->name() == name) return *backend;
  throw Error(ErrorCode::unknown_name,
              concat("backend '", name, "' is unknown; there are ", names_of(backends_)));
}

Choice Registry::choose(const Problem& problem, const Machine& machine,
                        std::string_view forced) const {
  const Backend* wish = forced.empty() ? nullptr : &find(forced);
  Choice choice;
  choice.forced = wish != nullptr;
  for (const Backend* backend : backends_) {
    const Support support = backend->explain(problem, machine);
    const bool wanted = wish == nullptr ? choice.backend == nullptr : backend == wish;
    if (support && wanted) {
      choice.backend = backend;
      choice.support = support;
      continue;
    }
    if (backend == wish) refuse(*backend, support, problem, machine, backends_);
    const std::string otherwise =
        wish != nullptr ? concat(forced, " is forced") : std::string(backend->drawback(machine));
    choice.rejected.push_back({backend, support ? otherwise : support.why_not});
  }
  if (choice.backend != nullptr) return choice;
  std::string reasons;
  for (const Rejected& rejected : choice.rejected)
    reasons += concat(reasons.empty() ? "" : "; ", rejected.backend->name(), ": ", rejected.reason);
  throw Error(ErrorCode::not_possible, concat("no backend can: ", reasons));
}

std::string forced_backend(std::string_view flag) {
  if (!flag.empty()) return std::string(flag);
  const char* variable = std::getenv("HEADWISE_BACKEND");
  return variable != nullptr ? variable : "";
}

std::string log_line(const Choice& choice, std::string_view layers, Phase phase) {
  std::string line = concat("attention: layers ", layers, " ", name_of(phase), " -> ",
                            choice.backend->name(), " ", choice.support.row);
  if (!choice.support.remark.empty()) line += concat(", ", choice.support.remark);
  for (const Rejected& rejected : choice.rejected)
    line += concat(" | ", rejected.backend->name(), ": ", rejected.reason);
  return line;
}

}  // namespace headwise
