#include "model/hugging_face/safetensors.h"
#include "tests/fuzz/fuzz_input.h"

using namespace headwise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return may_refuse([&] {
    for (const auto& [tensor, file] : read_safetensors_index(text_of(data, size))) {
      if (file.find('/') != std::string::npos) __builtin_trap();  // it would leave the folder
    }
  });
}
