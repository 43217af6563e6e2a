#include "advisor/model/stored_weights.h"

#include "core/check.h"
#include "model/json/json_text.h"

namespace headwise {

StoredWeights stored_weights(std::string_view config_json) {
  const nlohmann::json config = parse_json(config_json);
  check(config.is_object(), "config.json is not an object");
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object())
    return {.format = {}, .why = "the file names no quantisation"};
  const auto method = found->find("quant_method");
  const std::string name =
      method != found->end() && method->is_string() ? method->get<std::string>() : "unnamed";
  if (name != "fp8")
    return {.format = {},
            .why = concat("the file's quantisation, '", name, "', has no times here")};
  const bool in_blocks = found->contains("weight_block_size");
  return {.format = in_blocks ? WeightFormat::fp8_block : WeightFormat::fp8,
          .why = in_blocks ? "quantization_config: fp8 with weight_block_size"
                           : "quantization_config: fp8"};
}

}  // namespace headwise
