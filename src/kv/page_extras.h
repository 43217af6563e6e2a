#pragma once

#include <cstdint>
#include <string>

#include "headwise/prefix_key.h"

namespace headwise {

/// What of `key` the K and V of a page of tokens depend on beyond those of the pages before it, as
/// bytes that are equal only for equal extras: adapters and salts for page 0, images for the pages
/// that they reach into. Empty for most.
std::string extras_of_page(const PrefixKey& key, std::int32_t page, std::int32_t page_size);

}  // namespace headwise
