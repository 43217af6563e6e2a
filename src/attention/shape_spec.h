#pragma once

#include <string>
#include <string_view>

#include "headwise/attention_shape.h"

namespace headwise {

/// An attention shape as the command line writes it, with the page size of its cache.
struct ShapeSpec {
  AttentionShape shape;
  int page_size = 0;  ///< tokens; 0: the backend's preference
};

/// Reads "q32:kv8:d128", then any of ":v64" (value dimension), ":w4096" (window of that many
/// tokens),
/// ":cap50", ":sinks", ":full" (not causal), ":page16", ":f8", ":i8" (8-bit KV), ":f16", ":f32" (q
/// and KV), ":f8p" (FP8 products) and ":mla" (V is a prefix of K). Throws Error(unknown_name) on a
/// part that nobody knows, Error(invalid_input) on a bad value.
ShapeSpec parse_shape_spec(std::string_view text);

std::string to_string(const ShapeSpec& spec);

}  // namespace headwise
