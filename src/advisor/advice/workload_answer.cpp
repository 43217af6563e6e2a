#include "advisor/advice/workload_answer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/check.h"

namespace headwise {
namespace {

constexpr double kMsPerSecond = 1e3;

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

class WorkloadQuestion {
 public:
  WorkloadQuestion(const Workload& workload, const ModelDescription& model,
                   const Deployment& deployment, const MemoryPlan& memory, const DeviceTimes& times)
      : workload_(workload),
        model_(model),
        deployment_(deployment),
        memory_(memory),
        times_(times) {}

  WorkloadAnswer answer() const {
    WorkloadAnswer answer{.context = workload_.longest()};
    add_times(answer);
    add_memory(answer);
    if (answer.turn && answer.most_conversations >= workload_.concurrency)
      answer.throughput =
          static_cast<double>(workload_.concurrency * workload_.output) / answer.turn.seconds;
    answer.ttft = judged(workload_.ttft_target_ms, answer.first.total());
    answer.tpot = judged(workload_.tpot_target_ms, answer.next.total());
    answer.limit = limit_text(answer);
    return answer;
  }

 private:
  void add_times(WorkloadAnswer& answer) const {
    const std::int64_t prompt = workload_.prompt(workload_.turns);
    const std::int64_t cached = workload_.cached(workload_.turns);
    const auto first = [&](std::int64_t prefix) {
      return first_token(model_, deployment_, {.prefix = prefix, .count = prompt - prefix}, times_);
    };
    answer.first = first(cached);
    answer.first_of_all = first(0).total();
    answer.next = next_token(model_, deployment_, workload_.concurrency, answer.context, times_);
    const std::int64_t prefills = divided(workload_.concurrency, deployment_.adp);
    answer.turn = answer.first.total().scaled(static_cast<double>(prefills)) +
                  answer.next.total().scaled(static_cast<double>(workload_.output));
    answer.next_with_prefills = answer.turn.scaled(1.0 / static_cast<double>(workload_.output));
  }

  double device_bytes(std::int64_t tokens) const {
    return tokens == 0 ? 0.0 : kv_bytes_per_device(model_, deployment_, tokens, memory_.page);
  }

  double bytes_in_pages(std::int64_t tokens) const {
    if (tokens == 0) return 0.0;
    return static_cast<double>(
        kv_bytes_in_pages(model_, deployment_.kv_type, tokens, memory_.page));
  }

  /// What a conversation keeps besides the prefix that all share: in layers of a window too, since
  /// its window has left the prefix by as many tokens.
  std::int64_t own_tokens() const { return workload_.longest() - workload_.shared_prefix; }

  void add_memory(WorkloadAnswer& answer) const {
    const auto conversations = static_cast<double>(workload_.concurrency);
    const auto groups = static_cast<double>(std::min(deployment_.adp, workload_.concurrency));
    answer.kv_bytes = groups * bytes_in_pages(workload_.shared_prefix) +
                      conversations * bytes_in_pages(own_tokens());
    answer.kv_bytes_without_sharing = conversations * bytes_in_pages(answer.context);
    const BatchLimit alone =
        largest_batch(model_, deployment_, times_.hardware(), answer.context, memory_);
    answer.most_without_sharing = alone.requests;
    answer.why_none = alone.why_not;
    if (!times_.hardware().memory_bytes) return;
    const double room = times_.hardware().memory_bytes->value * (1.0 - memory_.reserve) -
                        weight_bytes(model_, deployment_) - device_bytes(workload_.shared_prefix);
    const double a_group = std::floor(room / device_bytes(own_tokens()));
    if (a_group < 1.0) return;
    const double all = a_group * static_cast<double>(deployment_.adp) * deployment_.balance;
    answer.most_conversations = std::max<std::int64_t>(1, static_cast<std::int64_t>(all));
    answer.why_none.clear();
  }

  static std::optional<TargetAnswer> judged(const std::optional<double>& target_ms,
                                            const Estimate& time) {
    if (!target_ms || !time) return std::nullopt;
    const double ms = time.seconds * kMsPerSecond, margin = *target_ms - ms;
    return TargetAnswer{.is_met = margin >= 0.0,
                        .margin_ms = margin,
                        .is_sure = std::abs(margin) > time.error * ms};
  }

  static std::string missed_text(const char* what, const TargetAnswer& target, const StepTime& step,
                                 const char* phase) {
    return concat(what, " misses its target by ", number(-target.margin_ms, 1), " ms; ",
                  largest_part(step), " of ", phase);
  }

  /// "attention takes 48 %".
  static std::string largest_part(const StepTime& step) {
    const auto largest = std::ranges::max_element(step.parts, {}, &Estimate::seconds);
    const auto part = static_cast<StepPart>(largest - step.parts.begin());
    return concat(name_of(part), " takes ",
                  number(100.0 * largest->seconds / step.total().seconds, 0), " %");
  }

  std::string limit_text(const WorkloadAnswer& answer) const {
    if (answer.most_conversations == 0) return concat("memory: ", answer.why_none);
    if (answer.most_conversations < workload_.concurrency)
      return concat("memory: of ", workload_.concurrency, " conversations ",
                    answer.most_conversations, " fit at once");
    if (!answer.turn) return concat("not known: ", answer.turn.why_not);
    if (answer.ttft && !answer.ttft->is_met)
      return missed_text("TTFT", *answer.ttft, answer.first, "it");
    if (answer.tpot && !answer.tpot->is_met)
      return missed_text("TPOT", *answer.tpot, answer.next, "it");
    const double decoding = answer.next.total().seconds * static_cast<double>(workload_.output);
    const bool is_decode = decoding > 0.5 * answer.turn.seconds;
    const double share = decoding / answer.turn.seconds;
    return concat(is_decode ? "decode steps take " : "prefills take ",
                  number(100.0 * (is_decode ? share : 1.0 - share), 0), " % of a turn, and ",
                  largest_part(is_decode ? answer.next : answer.first), " of them");
  }

  const Workload& workload_;
  const ModelDescription& model_;
  const Deployment& deployment_;
  const MemoryPlan& memory_;
  const DeviceTimes& times_;
};

}  // namespace

WorkloadAnswer answer_workload(const Workload& workload, const ModelDescription& model,
                               const Deployment& deployment, const MemoryPlan& memory,
                               const DeviceTimes& times) {
  return WorkloadQuestion(workload, model, deployment, memory, times).answer();
}

}  // namespace headwise
