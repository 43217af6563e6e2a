// Fuzzes the keys tokenizer.* of GGUF files. Errors are fine; anything else is not.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "headwise/error.h"
#include "model/gguf/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("tokenizer.gguf", 0);
  if (file < 0) return 0;
  if (write(file, data, size) == static_cast<ssize_t>(size)) {
    try {
      const headwise::GgufFile gguf("/proc/self/fd/" + std::to_string(file));
      const headwise::Tokenizer tokenizer(headwise::read_vocabulary(gguf));
      tokenizer.decode(tokenizer.encode("<s>a b\xff\n", headwise::SpecialText::parsed));
    } catch (const headwise::Error&) {
    }
  }
  close(file);
  return 0;
}
