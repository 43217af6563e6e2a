#include "advisor/model/weight_format.h"

#include <array>
#include <string>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::array kFormats{WeightFormat::bf16, WeightFormat::fp8, WeightFormat::fp8_block,
                              WeightFormat::nvfp4};

}  // namespace

std::string_view name_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::bf16:
      return "bf16";
    case WeightFormat::fp8:
      return "fp8";
    case WeightFormat::fp8_block:
      return "fp8_block";
    case WeightFormat::nvfp4:
      break;
  }
  return "nvfp4";
}

WeightFormat parse_weight_format(std::string_view name) {
  std::string known;
  for (const WeightFormat format : kFormats) {
    if (name_of(format) == name) return format;
    known += concat(known.empty() ? "" : ", ", name_of(format));
  }
  throw Error(ErrorCode::unknown_name,
              concat("unknown weight format '", name, "'; there are ", known));
}

double bytes_per_weight(WeightFormat format) {
  constexpr double kBlockScale = 4.0 / (128.0 * 128.0);
  switch (format) {
    case WeightFormat::bf16:
      return 2.0;
    case WeightFormat::fp8:
      return 1.0;
    case WeightFormat::fp8_block:
      return 1.0 + kBlockScale;
    case WeightFormat::nvfp4:
      break;
  }
  return 0.5 + 1.0 / 16.0;
}

}  // namespace headwise
