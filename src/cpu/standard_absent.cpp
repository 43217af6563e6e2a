// Built where oneDNN is left out, instead of standard.cpp and what it needs.
#include "attention/absent_backend.h"
#include "cpu/standard.h"

namespace headwise {

const Backend& standard_backend() {
  static const AbsentBackend backend("standard", DeviceType::cpu, "this build has no oneDNN");
  return backend;
}

}  // namespace headwise
