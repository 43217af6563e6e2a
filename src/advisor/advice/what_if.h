#pragma once

#include <string>

#include "advisor/advice/variation.h"
#include "advisor/model/model_description.h"
#include "advisor/time/deployment.h"

namespace headwise {

/// Of layers that become windowed in a model that has neither windows nor linear layers: Gemma 3's.
constexpr std::int64_t kUsualWindow = 1024;

/// A model and its deployment with one parameter changed; why_not: there is no such model, or it
/// cannot lie over the deployment's devices, and the rest is of no use.
struct Variant {
  ModelDescription model;
  Deployment deployment;
  std::string why_not;
};

/// All layers that have the parameter get the value; if none has it, that is why not. full_every n
/// makes layers n, 2 n, ... attend to all tokens, and of the others what the model's first linear
/// layer is, else its first windowed or chunked one, else a window of kUsualWindow tokens.
/// Feed-forward stays where it is.
Variant what_if(const ModelDescription& model, const Deployment& deployment,
                const Variation& variation);

/// Nothing is changed.
bool is_same(const Variant& variant, const ModelDescription& model, const Deployment& deployment);

}  // namespace headwise
