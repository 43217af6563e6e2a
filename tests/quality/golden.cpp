#include "tests/quality/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace headwise::quality {
namespace {

using nlohmann::json;

std::ifstream open(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), path.string(), " cannot be read");
  return file;
}

template <class T>
T take(std::ifstream& file) {
  T value{};
  file.read(reinterpret_cast<char*>(&value), sizeof(T));
  return value;
}

std::vector<Continuation> read_continuations(const json& found) {
  std::vector<Continuation> continuations;
  for (const json& one : found)
    continuations.push_back({.prompt = one.at("prompt"),
                             .greedy = one.at("greedy"),
                             .top_logits = one.at("top_logits")});
  return continuations;
}

/// A row: f32 rest, u32 ids, u16 -log p / unit. Its rest is exact, the others are rounded and are
/// brought to the sum that it leaves them, so that what rounding does is of second order.
TopTokens read_row(std::ifstream& file, std::int64_t top, double unit) {
  TopTokens row;
  row.rest = take<float>(file);
  for (std::int64_t i = 0; i < top; ++i)
    row.ids.push_back(static_cast<TokenId>(take<std::uint32_t>(file)));
  double sum = 0.0;
  for (std::int64_t i = 0; i < top; ++i)
    sum += row.probabilities.emplace_back(std::exp(-unit * take<std::uint16_t>(file)));
  for (double& p : row.probabilities) p *= (1.0 - row.rest) / sum;
  return row;
}

void read_distributions(const json& described, const std::filesystem::path& folder,
                        Golden& golden) {
  const auto positions = described.at("prompt_tokens").get<std::size_t>();
  const auto has_them = [&](const Continuation& c) { return c.prompt.size() == positions; };
  const auto found = std::ranges::find_if(golden.continuations, has_them);
  check(found != golden.continuations.end(), golden.name, ": no prompt of ", positions, " tokens");
  golden.distributions_of = static_cast<std::size_t>(found - golden.continuations.begin());

  const std::filesystem::path path = folder / described.at("file").get<std::string>();
  std::ifstream file = open(path);
  const std::int64_t top = described.at("top");
  while (golden.distributions.size() < positions)
    golden.distributions.push_back(read_row(file, top, described.at("logprob_unit")));
  check(file.good() && file.peek() == std::ifstream::traits_type::eof(), path.string(),
        " is not of ", positions, " rows");
}

}  // namespace

Golden Golden::read(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path path = folder / (name + ".json");
  std::ifstream file = open(path);
  try {
    const json document = json::parse(file);
    Golden golden{.name = name,
                  .model_file = document.at("model").at("file"),
                  .bos = document.at("bos"),
                  .continuations = read_continuations(document.at("continuations").at("found")),
                  .distributions = {},
                  .perplexities = {}};
    read_distributions(document.at("distributions"), folder, golden);
    for (const auto& [field, value] : document.items())
      if (field.starts_with("perplexity_"))
        golden.perplexities.push_back({.length = value.at("window"),
                                       .nll = value.at("nll"),
                                       .text_hashes = value.at("tokens_fnv1a")});
    return golden;
  } catch (const json::exception& error) {
    throw Error(ErrorCode::invalid_input, concat(path.string(), ": ", error.what()));
  }
}

const Windows& Golden::windows(std::int64_t length) const {
  const auto found = std::ranges::find(perplexities, length, &Windows::length);
  check(found != perplexities.end(), name, ": the reference has no windows of ", length, " tokens");
  return *found;
}

std::string fnv1a(std::span<const TokenId> tokens) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const TokenId token : tokens)
    for (int bits = 0; bits < 32; bits += 8)
      value = (value ^ (static_cast<std::uint32_t>(token) >> bits & 0xffU)) * 0x100000001b3U;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

}  // namespace headwise::quality
