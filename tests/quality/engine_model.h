#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "headwise/dtype.h"
#include "tests/quality/judged_model.h"

namespace headwise::quality {

struct EngineOptions {
  Maths maths = Maths::f32;
  DType kv_type = DType::f32;
  std::int32_t chunk = 512;   ///< tokens of a step
  std::int32_t capacity = 0;  ///< tokens of a text
  int threads = 0;            ///< 0: all
};

/// A model file in Headwise's engine. Throws Error as the engine does.
std::unique_ptr<JudgedModel> open_engine(const std::filesystem::path& file,
                                         const EngineOptions& options);

}  // namespace headwise::quality
