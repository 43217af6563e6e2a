#include "model/hugging_face/hf_names.h"
#include "model/hugging_face/safetensors.h"
#include "tests/fuzz/fuzz_input.h"

using namespace headwise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return may_refuse([&] {
    const SafetensorsFile file(bytes_of(data, size), "input");
    for (const WeightTensor& tensor : file.table().tensors()) {
      read_rows(tensor);
      gguf_name(tensor.name, "llama");
      gguf_name(tensor.name, "gemma3");
    }
  });
}
