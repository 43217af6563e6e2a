// Fuzzes tokenizer.json, and what a tokenizer that was accepted does with a text. Errors are fine;
// anything else is not.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/error.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const headwise::Tokenizer tokenizer(headwise::read_tokenizer_json(text));
    const auto tokens = tokenizer.encode(text.substr(0, 256), headwise::SpecialText::parsed);
    tokenizer.decode(tokens);
  } catch (const headwise::Error&) {
  }
  return 0;
}
