#include "advisor/advice/sweep.h"

#include <algorithm>

#include "core/check.h"

namespace headwise {
namespace {

SweepRow row_of(const Served& served, const Variation& variation, std::int64_t context,
                const DeviceTimes& times) {
  Variant variant = what_if(served.model, served.deployment, variation);
  SweepRow row{.value = variation.text,
               .is_model = is_same(variant, served.model, served.deployment),
               .times = {},
               .why_not = variant.why_not};
  if (!row.why_not.empty()) return row;
  row.times =
      context_times({std::move(variant.model), variant.deployment, served.load}, context, times);
  return row;
}

bool is_equal(const Variation& a, const Variation& b) {
  return a.count == b.count && a.type == b.type;
}

}  // namespace

SweepRequest parse_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  check(equals != text.npos, "a sweep is a parameter and its values, such as kv_heads=1,2,4,8");
  SweepRequest request{.parameter = parse_parameter(text.substr(0, equals)), .values = {}};
  for (std::size_t start = equals + 1; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const Variation value = parse_variation(request.parameter, text.substr(start, comma - start));
    check(std::ranges::none_of(request.values,
                               [&](const Variation& other) { return is_equal(other, value); }),
          name_of(request.parameter), ": ", value.text, " stands there twice");
    request.values.push_back(value);
    start = comma + 1;
  }
  return request;
}

Sweep sweep(const Served& served, const SweepRequest& request, std::int64_t context,
            const DeviceTimes& times) {
  Sweep sweep{.parameter = request.parameter, .context = context, .rows = {}};
  for (const Variation& value : request.values)
    sweep.rows.push_back(row_of(served, value, context, times));
  if (std::ranges::none_of(sweep.rows, &SweepRow::is_model))
    sweep.rows.insert(sweep.rows.begin(), {.value = "unchanged",
                                           .is_model = true,
                                           .times = context_times(served, context, times),
                                           .why_not = {}});
  return sweep;
}

}  // namespace headwise
