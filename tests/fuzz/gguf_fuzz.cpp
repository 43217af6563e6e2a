#include "model/gguf/gguf.h"
#include "model/gguf/gguf_config.h"
#include "model/model_tensors.h"
#include "tests/fuzz/fuzz_input.h"

using namespace headwise;

namespace {

void read_key(const GgufMetadata& keys, std::string_view key) {
  may_refuse([&] { keys.unsigned_integer(key); });
  may_refuse([&] { keys.number(key); });
  may_refuse([&] { keys.boolean(key); });
  may_refuse([&] { keys.string(key); });
  may_refuse([&] { keys.strings(key); });
  may_refuse([&] { keys.integers(key); });
  may_refuse([&] { keys.booleans(key); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return may_refuse([&] {
    const GgufFile file(bytes_of(data, size), "input");
    for (const std::string_view key : file.metadata().keys()) read_key(file.metadata(), key);
    for (const WeightTensor& tensor : file.tensors()) read_rows(tensor);
    check_tensors(read_gguf_config(file), file.table());
  });
}
