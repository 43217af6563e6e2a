#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "advisor/model/model_description.h"
#include "advisor/model/model_work.h"
#include "advisor/model/stored_matrices.h"
#include "advisor/model/weight_format.h"
#include "headwise/dtype.h"

namespace headwise {

// What one device does in a step, as kernels see it: everything is that device's own share.

/// One layer's attention without its projections, over `batch` requests of equal lengths.
struct CoreAttention {
  Attention attention;
  LatentForm form = LatentForm::expanded;  ///< of MLA; nothing to others
  DType q_type = DType::bf16;
  DType kv_type = DType::bf16;
  std::int64_t batch = 1;
  NewTokens tokens;        ///< of each request
  std::int64_t chunk = 0;  ///< new tokens that a step takes at once; 0: all
};

/// [m, k] times weights of [k, n].
struct Product {
  std::int64_t m = 1, n = 1, k = 1;
  WeightFormat weights = WeightFormat::bf16;
  std::optional<StoredFormat> stored = {};  ///< instead of `weights`
  bool largest_only = false;  ///< of one row's results, time and again: greedy decoding
};

/// The routed experts of one layer, three matrices each.
struct Experts {
  std::int64_t tokens = 1;  ///< of all devices
  std::int64_t hidden = 1, width = 1;
  std::int64_t experts = 1, top_k = 1;
  std::int64_t tp = 1;  ///< devices that share an expert's width
  std::int64_t ep = 1;  ///< devices that share the experts
  WeightFormat weights = WeightFormat::bf16;
  std::string routing = "balanced";  ///< or "power_law_1.01", "power_law_1.2"
};

/// Norms, residuals, positions, activations of a layer: what only reads and writes activations.
struct Pass {
  std::int64_t rows = 1;
  std::int64_t hidden = 1, projected = 1, feed_forward = 0;  ///< widths
  double bytes = 0.0;
  std::int64_t kernels = 1;
};

struct Exchange {
  enum class Kind : std::uint8_t { all_reduce, all_gather, all_to_all, point_to_point };

  Kind kind = Kind::all_reduce;
  double bytes = 0.0;  ///< all_reduce, all_gather: of the result; else what a device sends
  std::int64_t devices = 1;
};

const char* name_of(Exchange::Kind kind);  ///< "all-reduce"

}  // namespace headwise
