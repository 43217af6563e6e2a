#pragma once

#include <vector>

#include "advisor/time/layer_time.h"

namespace headwise {

/// What devices tell each other in one pass of one layer; activations are bf16.
///   tp, kvp   results of the output projection are summed; decode's partial results of kvp change
///             places first (Helix, arXiv 2507.07120), prefill's keys and values are gathered
///   tp_ff     results are summed, behind a gathering where it is wider than an attention group
///   experts   with one attention group results are summed; with several, tokens go to at most
///             min(top_k, ep) shares of experts, each of which may be several
///             devices, in fp8 where the weights are 8 or 4 bits, and back
std::vector<Exchange> layer_exchanges(const LayerDescription& layer, std::int64_t hidden,
                                      const Deployment& deployment, const Step& step,
                                      const StepRows& rows);

}  // namespace headwise
