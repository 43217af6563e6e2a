#pragma once

#include <filesystem>
#include <string>

namespace headwise {

/// A share of a rate that kernels reach.
struct Efficiency {
  double value = 0.0;
  double error = 0.0;  ///< relative
  std::string origin;
};

/// What is assumed of kernels that nobody measured; a file of data/efficiency.
struct Efficiencies {
  std::filesystem::path file;
  Efficiency attention_products, attention_exponentials, attention_read;
  Efficiency latent_prefill_products, latent_decode_products, latent_read;
  Efficiency products, product_read;
  Efficiency experts_products;
  Efficiency experts_balance;  ///< of balanced experts' rate, where routing is skewed
  Efficiency window_keys;      ///< that a row of a windowed prefill costs beside its own
  Efficiency link;
  Efficiency exchange_us;  ///< microseconds that devices take to tell each other anything
  Efficiency kernel_us;    ///< that a kernel takes besides its work
};

/// Throws Error, one line with the file and the field.
Efficiencies read_efficiencies(const std::filesystem::path& file);

/// data/efficiency/default.json.
Efficiencies default_efficiencies();

}  // namespace headwise
