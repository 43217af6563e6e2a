#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "advisor/model/model_description.h"
#include "advisor/model/model_work.h"
#include "advisor/time/deployment.h"
#include "advisor/time/device_times.h"
#include "advisor/time/estimate.h"

namespace headwise {

/// Requests of equal lengths.
struct Step {
  std::int64_t batch = 1;  ///< of all attention groups; the fullest one counts
  NewTokens tokens;        ///< of each request

  bool is_decode() const { return tokens.count == 1 && tokens.prefix > 0; }
};

enum class StepPart : std::uint8_t {
  attention,    ///< the core alone
  projections,  ///< of attention
  feed_forward,
  router,
  output_matrix,
  communication,
  overhead,  ///< norms, residuals, positions, activations
};
constexpr std::size_t kStepParts = 7;
const char* name_of(StepPart part);  ///< "attention projections"

/// What a step takes on the fullest device, nothing overlapped.
struct StepTime {
  std::array<Estimate, kStepParts> parts;  ///< by StepPart

  const Estimate& at(StepPart part) const { return parts[static_cast<std::size_t>(part)]; }
  Estimate& at(StepPart part) { return parts[static_cast<std::size_t>(part)]; }
  Estimate total() const;

  /// Attention's part of attention, projections, feed-forward and router: what layers compute.
  /// Output matrix, communication and overhead are left out. Absent if one of them is unknown.
  std::optional<double> attention_share() const;
};

/// Attention is one call over all new tokens, which has the pairs of its chunks. Linear layers take
/// M = min(new tokens of a group, chunk) at a time, and at last what is left. MLA is expanded in
/// prefill, absorbed in decode, and whichever takes less behind a prefix; with a sparse indexer
/// absorbed as soon as it leaves tokens out. Throws Error if the deployment is impossible or a
/// count is below 1.
StepTime step_time(const ModelDescription& model, const Deployment& deployment, const Step& step,
                   const DeviceTimes& times);

/// The core attention of one layer, as step_time asks for it.
CoreAttention core_attention(const Attention& attention, LatentForm form,
                             const Deployment& deployment, const Step& step);

}  // namespace headwise
