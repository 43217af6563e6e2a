#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "advisor/time/step_time.h"

namespace headwise {

/// How requests are kept in memory.
struct MemoryPlan {
  std::int64_t page = 64;  ///< tokens
  double reserve = 0.1;    ///< share of a device's memory that is neither weights nor KV
};

/// Bytes of all devices that one request of `context` tokens takes, layers rounded up to pages. A
/// window of W tokens touches at most ceil((W - 1) / page) + 1 pages.
std::int64_t kv_bytes_in_pages(const ModelDescription& model, DType kv_type, std::int64_t context,
                               std::int64_t page);

/// Bytes that one request takes on the fullest device of its group: of GQA a tp-th, at least one KV
/// head; of MLA all, whatever tp; a kvp-th of the pages; the fullest stage's layers.
double kv_bytes_per_device(const ModelDescription& model, const Deployment& deployment,
                           std::int64_t context, std::int64_t page);

/// Requests of `context` tokens that fit at once, on all devices; why_not: none does, or memory is
/// not known.
struct BatchLimit {
  std::int64_t requests = 0;
  std::string why_not;
};
BatchLimit largest_batch(const ModelDescription& model, const Deployment& deployment,
                         const Hardware& hardware, std::int64_t context, const MemoryPlan& plan);

/// The first token of requests that come together, one a group: prefill, and its output matrix.
StepTime first_token(const ModelDescription& model, const Deployment& deployment,
                     const NewTokens& prompt, const DeviceTimes& times);

/// A decode step in which each of `batch` requests sees `context` tokens, its own included. With pp
/// stages the batch is cut into as many parts, which follow one another at the fullest stage's
/// pace. Of uneven groups the fullest counts, and experts see as many tokens as if all were as
/// full.
StepTime next_token(const ModelDescription& model, const Deployment& deployment, std::int64_t batch,
                    std::int64_t context, const DeviceTimes& times);

/// The shortest context from which on attention's share (StepTime::attention_share) is a half.
struct Crossover {
  std::optional<std::int64_t> context;
  std::string why_not;
};
Crossover prefill_crossover(const ModelDescription& model, const Deployment& deployment,
                            const DeviceTimes& times);
Crossover decode_crossover(const ModelDescription& model, const Deployment& deployment,
                           std::int64_t batch, const DeviceTimes& times);

}  // namespace headwise
