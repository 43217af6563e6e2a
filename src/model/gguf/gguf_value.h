#pragma once

#include <string_view>

#include "model/byte_reader.h"
#include "model/gguf/gguf.h"

namespace headwise {

/// Reads a value's type and bytes. Throws Error naming `key` if they do not fit the file.
GgufValue read_gguf_value(ByteReader& reader, std::string_view key);

}  // namespace headwise
