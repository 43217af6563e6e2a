#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/shape_spec.h"

namespace headwise::cli {

/// Readers of options whose values commands share. A value that cannot be read is wrong usage:
/// CLI::ValidationError, with exit status 2.
ShapeSpec shape_option(const std::string& text);
std::vector<std::int64_t> sizes_option(const std::string& name, const std::string& text);

/// For options whose empty text would mean that they were not given: CLI11's check().
std::string refuse_empty(const std::string& text);

inline constexpr const char* kShapeHelp =
    "attention shape: q32:kv8:d128, then any of :v64 (value dimension) :w4096 (window) :cap50 "
    ":sinks :full (not causal) :page16 :f8 :i8 (8-bit KV) :f16 :f32 :f8p (FP8 products) :mla";

}  // namespace headwise::cli
