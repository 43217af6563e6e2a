#pragma once

// The rotary frequencies of a head of `dim` rotated dimensions, `dim` even, by the ways in use to
// stretch a model to longer contexts. Factors are how many times longer, at least 1.

#include <optional>
#include <span>

#include "model/model_config.h"

namespace headwise {

/// base^(-2i / dim). Source: Su et al. 2021, section 3.2.2.
RopeConfig plain_rope(double base, int dim);

/// All frequencies divided by `factor`. Source: Chen et al. 2023, equation 4.
RopeConfig linear_rope(double base, int dim, double factor);

struct Llama3Scaling {
  double factor = 0.0;
  double low_frequency_factor = 0.0;   ///< turns in original_context: fewer are divided by factor
  double high_frequency_factor = 0.0;  ///< more turns are left alone; above low_frequency_factor
  double original_context = 0.0;       ///< tokens
};

/// Source: apply_scaling in Meta's reference model of Llama 3.1 (llama-models).
RopeConfig llama3_rope(double base, int dim, const Llama3Scaling& scaling);

struct YarnScaling {
  double factor = 0.0;
  double original_context = 0.0;    ///< tokens
  double beta_fast = 32.0;          ///< turns in original_context: more are left alone
  double beta_slow = 1.0;           ///< fewer turns are divided by factor
  bool whole_pairs = true;          ///< the ramp between them begins and ends at whole pairs
  std::optional<double> magnitude;  ///< absent: the paper's
};

/// Source: Peng et al. 2023 (YaRN): section 3.2, the ramp being over pairs as in the authors' code;
/// the magnitude, by equation 22, is 0.1 ln(factor) + 1.
RopeConfig yarn_rope(double base, int dim, const YarnScaling& scaling);

/// Each frequency divided by its factor, as GGUF files of Llama 3 store them. Throws Error unless
/// there are as many factors as frequencies, all finite and above 0.
RopeConfig divided_rope(RopeConfig rope, std::span<const float> factors);

}  // namespace headwise
