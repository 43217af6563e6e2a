#include "model/hugging_face/hf_config.h"
#include "model/model_tensors.h"
#include "tests/fuzz/fuzz_input.h"

using namespace headwise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return may_refuse([&] {
    const ModelConfig config = read_hf_config(text_of(data, size));
    outer_tensors(config);
    layer_tensors(config, config.layers - 1);
  });
}
