#include "model/tokenizer/split_patterns.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kDigitPattern = R"(\p{N})";
const std::string_view kDigitsPattern = R"(\p{N}+)";

namespace {

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

PreTokenizerRules rules_of_pre_tokenizer(std::string_view name) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  PreTokenizerRules rules;
  if (is({"default", "gpt-2"})) {
    rules.patterns = {std::string(kGpt2Pattern)};
  } else if (is({"smollm"})) {
    rules.patterns = {std::string(kDigitPattern), std::string(kGpt2Pattern)};
  } else if (is({"llama-bpe", "llama3", "llama-v3"})) {
    rules = {{std::string(kLlama3)}, false, true, true};
  } else if (is({"qwen2", "deepseek-r1-qwen"})) {
    rules = {{std::string(kQwen2)}, true, false, false};
  } else if (is({"tekken"})) {
    rules = {{std::string(kTekken)}, false, true, true};
  } else {
    check(false, "key 'tokenizer.ggml.pre': the pre-tokenizer ", quoted_name(name),
          " is not supported: default, gpt-2, smollm, llama-bpe, qwen2 and tekken are");
  }
  return rules;
}

bool is_known_pattern(std::string_view pattern) {
  const std::array known{kGpt2Pattern, kDigitPattern, kDigitsPattern, kLlama3, kQwen2, kTekken};
  return std::ranges::find(known, pattern) != known.end();
}

}  // namespace headwise
