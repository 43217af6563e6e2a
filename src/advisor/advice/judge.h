#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advisor/advice/guideline.h"
#include "advisor/advice/what_if.h"

namespace headwise {

/// A change that a guideline may recommend, and what it gains.
struct Candidate {
  std::string change;
  std::string check;  ///< what it asks for
  Served served;
  std::vector<Gain> gains;
};

/// What guidelines ask of the time model, at one context.
class Judge {
 public:
  /// `served` and `times` outlive it.
  Judge(const Served& served, std::int64_t context, const DeviceTimes& times);

  const Served& served() const { return served_; }
  const Hardware& hardware() const { return times_.hardware(); }
  std::int64_t context() const { return context_; }
  const ContextTimes& now() const { return now_; }

  /// Prefill, decode and throughput. Nothing if there is no such model.
  std::optional<Candidate> candidate(const std::string& change, const Variation& variation,
                                     const std::string& check) const;
  /// Decode and throughput: a step's prefill would be of another number of requests.
  Candidate other_plan(const std::string& change, const Deployment& deployment,
                       const std::string& check) const;

  /// FLOPs that the device does while it reads a byte; absent: not known.
  std::optional<double> ridge() const;

 private:
  Gain prefill(const ContextTimes& changed) const;
  Gain decode(const ContextTimes& changed) const;
  Gain throughput(const ContextTimes& changed) const;

  const Served& served_;
  std::int64_t context_;
  const DeviceTimes& times_;
  ContextTimes now_;
};

// A verdict is what the best candidate gains in the phase that the guideline is about, TTFT, TPOT
// or tokens a second as a whole:

/// Below, the model follows: 5 to 10 % is what the tables' own errors leave open.
constexpr double kGainThatCounts = 1.10;
/// From here on it breaks the guideline, if the error leaves kGainThatCounts: a third of the time
/// is lost.
constexpr double kGainThatBreaks = 1.5;

GuidelineVerdict verdict_of(const SpeedUp& gain);

/// Fills verdict, gain, gains and, if a change is worth its while, its check. Without candidates
/// the model follows.
void conclude(Guideline& guideline, const std::vector<Candidate>& candidates,
              const std::string& phase);

/// "TP8 -> ADP8: as many requests as fit at 128k, tokens a second +75 %, assumed +-9 %".
std::string gain_text(const Candidate& candidate, const std::string& phase);

/// Two digits that count, at least those before the point.
std::string short_number(double value);

Guideline judge_group_size(const Judge& judge);
Guideline judge_head_dimension(const Judge& judge);
Guideline judge_kv_state(const Judge& judge);
Guideline judge_parallel_width(const Judge& judge);

}  // namespace headwise
