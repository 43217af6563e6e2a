#include "bench/lens.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "bench/sizes.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

constexpr int kZipfSteps = 128;

std::vector<std::int64_t> read_lens(const std::string& path) {
  std::ifstream file(path);
  // A folder opens, and fails at the first read.
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    throw Error(ErrorCode::unknown_name,
                concat("lens '", path, "' is none of even, zipf, one-long, and no file with ",
                       "contexts can be read there"));
  std::vector<std::int64_t> lens;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    const std::size_t last = line.find_last_not_of(" \t\r");
    try {
      lens.push_back(parse_size(std::string_view(line).substr(first, last - first + 1)));
    } catch (const Error& error) {
      throw Error(error.code(), concat(path, " line ", number, ": ", error.what()));
    }
  }
  check(!lens.empty(), path, " holds no contexts");
  return lens;
}

}  // namespace

Lens parse_lens(std::string_view text) {
  const std::string name(text);
  if (name == "even") return {Lens::Kind::even, name, {}};
  if (name == "zipf") return {Lens::Kind::zipf, name, {}};
  if (name == "one-long") return {Lens::Kind::one_long, name, {}};
  return {Lens::Kind::listed, name, read_lens(name)};
}

std::vector<std::int64_t> context_lengths(const Lens& lens, std::int64_t context,
                                          std::int64_t batch, std::uint64_t seed) {
  if (lens.kind == Lens::Kind::listed) return lens.listed;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), context);
  if (lens.kind == Lens::Kind::one_long)
    std::fill(lengths.begin() + 1, lengths.end(), std::max<std::int64_t>(1, context / kZipfSteps));
  if (lens.kind == Lens::Kind::zipf) {
    std::vector<double> weights(kZipfSteps);
    for (int k = 0; k < kZipfSteps; ++k) weights[static_cast<std::size_t>(k)] = 1.0 / (k + 1);
    std::discrete_distribution<std::int64_t> steps(weights.begin(), weights.end());
    std::mt19937_64 random(seed);
    for (std::int64_t& length : lengths)
      length = std::max<std::int64_t>(1, context * (steps(random) + 1) / kZipfSteps);
  }
  return lengths;
}

}  // namespace headwise::bench
