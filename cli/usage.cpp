#include "cli/usage.h"

#include <CLI/CLI.hpp>

#include "bench/sizes.h"
#include "headwise/error.h"

namespace headwise::cli {
namespace {

template <class Read>
auto read_option(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw CLI::ValidationError(name, error.what());
  }
}

}  // namespace

std::string refuse_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

ShapeSpec shape_option(const std::string& text) {
  return read_option("--shape", [&] { return parse_shape_spec(text); });
}

std::vector<std::int64_t> sizes_option(const std::string& name, const std::string& text) {
  return read_option(name, [&] { return bench::parse_sizes(text); });
}

}  // namespace headwise::cli
