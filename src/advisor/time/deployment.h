#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "advisor/model/model_description.h"
#include "advisor/model/stored_matrices.h"
#include "advisor/model/weight_format.h"
#include "headwise/dtype.h"

namespace headwise {

/// How a model lies over devices and in which types. A stage is tp * adp * kvp devices, which hold
/// the same layers; feed-forward takes the same devices by widths of its own.
struct Deployment {
  WeightFormat projections = WeightFormat::bf16;   ///< of attention
  WeightFormat feed_forward = WeightFormat::bf16;  ///< dense, shared and routed experts
  std::optional<StoredMatrices> stored;            ///< a dense model's, instead of both
  DType kv_type = DType::bf16;
  DType q_type = DType::bf16;
  std::int64_t chunk = 8192;  ///< tokens that linear layers take at once, of one attention group
  std::string routing = "balanced";
  bool shared_beside_routed = false;  ///< in decode shared experts run while routed ones do

  std::int64_t tp = 1;     ///< attention's heads; more than KV heads duplicate those
  std::int64_t adp = 1;    ///< groups that attend to requests of their own
  std::int64_t kvp = 1;    ///< parts of each request's context: Helix, arXiv 2507.07120
  std::int64_t tp_ff = 1;  ///< width of dense layers and shared experts
  std::int64_t ep = 1;     ///< experts; what a stage has beyond shares their width
  std::int64_t pp = 1;     ///< stages
  double balance = 1.0;    ///< of requests over adp: the mean group's beside the fullest one's

  std::int64_t stage_devices() const { return tp * adp * kvp; }
  std::int64_t devices() const { return stage_devices() * pp; }
  std::int64_t experts_tp() const { return stage_devices() / ep; }
};

/// One sentence, or empty: widths that do not divide what they split.
std::string why_impossible(const ModelDescription& model, const Deployment& deployment);

/// The fewest KV heads that a layer stores, of which MLA has one; the highest number if all layers
/// are linear, whose states split like heads.
std::int64_t fewest_kv_heads(const ModelDescription& model);

/// Of the layers that have any; 0: none has.
std::int64_t routed_experts(const ModelDescription& model);

/// The fullest stage's part of the layers.
double stage_share(const ModelDescription& model, const Deployment& deployment);

/// What one of `tp` devices has of it: at least one KV head.
Attention sharded(const Attention& attention, std::int64_t tp);

/// Bytes of weights on the fullest device: embedding and output matrix are bf16 and split by tp,
/// routers bf16 and everywhere, MLA's down projections everywhere. What is stored in blocks lies
/// there once more in bf16, for prompts, but for the output matrix.
double weight_bytes(const ModelDescription& model, const Deployment& deployment);

}  // namespace headwise
