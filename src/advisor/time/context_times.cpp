#include "advisor/time/context_times.h"

#include "advisor/model/kv_state.h"
#include "core/check.h"

namespace headwise {
namespace {

void add_append(const Served& served, const DeviceTimes& times, ContextTimes& row) {
  const std::int64_t prefix = served.load.prefix;
  if (prefix == 0) {
    row.why_no_append = "no prefix is cached";
    return;
  }
  if (row.context <= prefix) {
    row.why_no_append = concat("the cached prefix of ", prefix, " tokens is not shorter");
    return;
  }
  const NewTokens prompt{.prefix = prefix, .count = row.context - prefix};
  row.append = first_token(served.model, served.deployment, prompt, times);
}

}  // namespace

std::string short_size(std::int64_t tokens) {
  constexpr std::int64_t kThousand = 1024, kMillion = kThousand * kThousand;
  if (tokens % kMillion == 0) return concat(tokens / kMillion, "m");
  if (tokens % kThousand == 0) return concat(tokens / kThousand, "k");
  return concat(tokens);
}

ContextTimes context_times(const Served& served, std::int64_t context, const DeviceTimes& times) {
  check(context >= 2, "a context of ", context, " tokens is too short");
  const auto& [model, deployment, load] = served;
  ContextTimes row{
      .context = context,
      .prefill = first_token(model, deployment, {.prefix = 0, .count = context}, times),
      .decode = next_token(model, deployment, load.batch, context, times),
      .kv_bytes = kv_bytes(model, deployment.kv_type, context),
      .kv_bytes_in_pages = kv_bytes_in_pages(model, deployment.kv_type, context, load.memory.page),
      .largest_batch = largest_batch(model, deployment, times.hardware(), context, load.memory),
      .decode_at_largest = {}};
  add_append(served, times, row);
  row.decode_at_largest =
      row.largest_batch.requests > 0
          ? next_token(model, deployment, row.largest_batch.requests, context, times).total()
          : unknown(row.largest_batch.why_not);
  return row;
}

}  // namespace headwise
