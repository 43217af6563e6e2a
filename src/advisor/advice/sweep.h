#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "advisor/advice/what_if.h"
#include "advisor/time/context_times.h"

namespace headwise {

struct SweepRequest {
  Parameter parameter = Parameter::kv_heads;
  std::vector<Variation> values;
};

/// "kv_heads=1,2,4,8". Throws Error, one line: no parameter, no value, one that is not understood
/// or stands twice.
SweepRequest parse_sweep(std::string_view text);

/// The model with one value; why_not: it has none of the rest.
struct SweepRow {
  std::string value;
  bool is_model = false;  ///< the value is the model's own
  ContextTimes times;
  std::string why_not;
};

struct Sweep {
  Parameter parameter = Parameter::kv_heads;
  std::int64_t context = 0;  ///< tokens
  std::vector<SweepRow> rows;
};

/// A row a value, in the order of the request; before them "unchanged" if none is the model's own.
Sweep sweep(const Served& served, const SweepRequest& request, std::int64_t context,
            const DeviceTimes& times);

}  // namespace headwise
