#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advisor/device/calibration.h"
#include "bench/row.h"
#include "bench/timing.h"

namespace headwise::bench {

/// Half of what lies between the quarters of the samples, over their median. Of at least one.
double spread_of(Samples samples);

/// Gathers measured times and makes tables of them, as the advisor asks for them.
class CalibrationMaker {
 public:
  /// Seconds of runs at one place, beside those that are known of it.
  void add(const std::string& query, const AxisValues& fixed, const std::vector<double>& at,
           const Samples& seconds);
  /// The same by a median and its relative spread. Of a place that is known nothing is added.
  void add(const std::string& query, const AxisValues& fixed, const std::vector<double>& at,
           double seconds, double spread);

  /// Times are means, since what adds up of them is to be the mean of what would be measured:
  /// medians leave out what disturbs now and then. Spreads are spread_of().
  std::vector<CalibrationTable> tables() const;

 private:
  struct Place {
    std::vector<double> at;
    Samples seconds;
    double spread = 0.0;  ///< where there is but one time
  };
  struct Table {
    std::string query;
    AxisValues fixed;
    std::vector<Place> places;
  };
  Place& place(const std::string& query, const AxisValues& fixed, const std::vector<double>& at);

  std::vector<Table> tables_;
};

/// What tells attention's tables apart, beside their axes; `window` 0 is none.
AxisValues attention_values(const AttentionShape& shape);

/// The axes of the queries that own measurements answer: attention_prefill (requests, cached
/// tokens, new ones), attention_decode (requests, keys), gemm (columns, summands, rows),
/// layer_overhead (rows); and first_prefill (rows), what a process's first such step takes more.
const std::vector<GridAxis>& axes_of(const std::string& query);

/// Own measurements of `system`, made today by `command`.
Calibration own_calibration(const std::string& system, const std::string& command,
                            std::vector<CalibrationTable> tables);

/// The times of a bench's prefills, appends and decodes, by what Headwise chose (or was forced to
/// run), of requests of equal lengths, causal, without softcaps and sinks. Absent: there are none.
std::optional<Calibration> calibration_of(const BenchReport& report, const std::string& command);

}  // namespace headwise::bench
