#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/backend.h"
#include "headwise/device_memory.h"

namespace headwise {

/// A candidate that was not chosen, and why.
struct Rejected {
  const Backend* backend = nullptr;
  std::string reason;
};

/// The backend that will run, and what is to be said about it.
struct Choice {
  const Backend* backend = nullptr;
  Support support;
  std::vector<Rejected> rejected;  ///< every other candidate, in order of preference
  bool forced = false;
};

/// Backends in order of preference. The only place that knows them all.
class Registry {
 public:
  explicit Registry(std::vector<const Backend*> backends) : backends_(std::move(backends)) {}

  /// Every backend of this build.
  static const Registry& builtin();

  std::span<const Backend* const> backends() const { return backends_; }

  /// Throws Error(unknown_name) that lists the names.
  const Backend& find(std::string_view name) const;

  /// The first backend that can do `problem` on `machine`; with `forced`, that one. Throws
  /// Error(unknown_name), or Error(not_possible) that says for each backend why not, and which
  /// could.
  Choice choose(const Problem& problem, const Machine& machine, std::string_view forced = {}) const;

 private:
  std::vector<const Backend*> backends_;
};

/// The memory of a device, for caches. Throws Error(not_possible) where this build has none for
/// such devices.
const DeviceMemory& memory_of(const Device& device);

/// The backend that a user asks for: the flag if given, else HEADWISE_BACKEND, else none ("").
std::string forced_backend(std::string_view flag = {});

/// "attention: layers 0-31 decode -> standard bf16 | reference: slow, for checking". `layers` is
/// "0-31".
std::string log_line(const Choice& choice, std::string_view layers, Phase phase);

}  // namespace headwise
