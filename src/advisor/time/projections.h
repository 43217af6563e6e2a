#pragma once

#include <vector>

#include "advisor/time/deployment.h"
#include "advisor/time/operators.h"

namespace headwise {

/// Rows that go through a layer's projections.
struct ProjectionRows {
  std::int64_t tokens = 1;     ///< new ones
  std::int64_t expanded = 1;   ///< of latents that become keys and values: MLA, expanded form
  std::int64_t out_split = 1;  ///< devices that share the output projection beside tp
};

/// Products of one device's share: queries, keys and values in one, as engines fuse them; MLA's
/// down projections in one and on each device. Their weights are attention_parameters, but for
/// short convolutions. The absorbed form's two products a head cost what the expansion of `tokens`
/// rows does.
std::vector<Product> attention_projections(const Attention& attention, std::int64_t hidden,
                                           const ProjectionRows& rows,
                                           const Deployment& deployment);

}  // namespace headwise
