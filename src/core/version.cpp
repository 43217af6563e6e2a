#include "headwise/version.h"

namespace headwise {

std::string_view version() { return HEADWISE_VERSION; }
std::string_view revision() { return HEADWISE_REVISION; }
std::string_view cuda_architectures() { return HEADWISE_CUDA_ARCHITECTURES; }

}  // namespace headwise
