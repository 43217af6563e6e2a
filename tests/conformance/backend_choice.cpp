#include "tests/conformance/backend_choice.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "headwise/registry.h"

namespace headwise::conformance {
namespace {

std::vector<const Backend*> backends_of(const std::string& names) {
  const auto all = Registry::builtin().backends();
  std::vector<const Backend*> wanted;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "cpu" || name == "cuda") {
      const DeviceType type = name == "cpu" ? DeviceType::cpu : DeviceType::cuda;
      std::ranges::copy_if(all, std::back_inserter(wanted),
                           [&](const Backend* backend) { return backend->device_type() == type; });
    } else {
      wanted.push_back(&Registry::builtin().find(name));
    }
  }
  return wanted;
}

}  // namespace

std::vector<const Backend*> chosen_backends() {
  const auto all = Registry::builtin().backends();
  const char* names = std::getenv("HEADWISE_BACKENDS");
  if (names == nullptr || *names == '\0') return {all.begin(), all.end()};
  return backends_of(names);
}

bool is_chosen(const Backend& backend) {
  return std::ranges::count(chosen_backends(), &backend) > 0;
}

std::string why_nothing_can_run() {
  const auto backends = chosen_backends();
  if (backends.empty()) return "this build has none of the backends";
  const bool for_gpus = std::ranges::all_of(
      backends, [](const Backend* backend) { return backend->device_type() == DeviceType::cuda; });
  if (!for_gpus) return {};
  if (this_machine().gpus.empty()) return this_machine().no_gpu;
  const std::string why_not = backends.front()->explain({}, this_machine()).why_not;
  return why_not.starts_with("this build has no ") ? why_not : "";
}

Device device_for(const Backend& backend) { return {backend.device_type(), 0}; }

}  // namespace headwise::conformance
