#include "tests/conformance/features.h"

#include <charconv>

namespace headwise::conformance {
namespace {

const std::array<FeatureInfo, kFeatures> kInfo = {{
    {"q", {"f32", "f16", "bf16", "f8e4m3"}},
    {"kv", {"f32", "f16", "bf16", "f8e4m3", "i8"}},
    {"group", {"1", "2", "3", "4", "5", "7", "8", "12", "16", "33"}},
    {"kv_heads", {"1", "2", "3", "5"}},
    {"dim_qk",
     {"1", "8", "16", "32", "40", "64", "72", "80", "96", "112", "128", "136", "192", "256",
      "576"}},
    {"dim_v", {"same", "half", "128", "wider", "odd", "prefix"}},
    {"page", {"packed", "1", "3", "8", "16", "24", "32", "64", "128", "256", "500"}},
    {"mask",
     {"causal", "full", "window-0", "window-1", "window-page-1", "window-page", "window-7",
      "window-64", "window-huge", "ahead-1", "symmetric-5", "symmetric-page", "right-3",
      "left-7-only"}},
    {"softcap", {"none", "30", "2"}},
    {"sinks", {"none", "some", "dominant", "tiny"}},
    {"scale", {"default", "larger", "negative", "zero"}},
    {"q_start", {"default", "inside", "negative", "beyond", "mixed"}},
    {"page_pos", {"default", "picked", "unordered", "far"}},
    {"tables", {"request", "request-padded", "head", "head-padded"}},
    {"sharing", {"none", "prefix"}},
    {"k_memory", {"dense", "swapped", "padded"}},
    {"v_memory", {"dense", "swapped", "padded", "beside-k"}},
    {"q_memory", {"dense", "swapped", "padded"}},
    {"out_memory", {"dense", "swapped", "padded"}},
    {"lse", {"absent", "dense", "swapped", "padded"}},
    {"out", {"own", "f32"}},
    {"fp8_scale", {"null", "tensor", "kv_head"}},
    {"lengths", {"prefill", "append", "decode", "mixed", "edges", "page-edges", "one-long"}},
    {"requests", {"1", "2", "4", "9"}},
    {"data", {"plain", "peaked", "flat"}},
    {"threads", {"0", "1", "2"}},
    {"capacity", {"exact", "roomy"}},
}};

struct Rule {
  Feature feature;
  std::string_view value;
  Feature other;
  std::string_view only;  ///< the only value of `other` that `value` can meet
};

constexpr Rule kRules[] = {
    {kPage, "packed", kPagePos, "default"},  // packed keys have no tables
    {kPage, "packed", kTables, "request"},
    {kDimV, "prefix", kVMemory, "dense"},  // there is no V
};

}  // namespace

const FeatureInfo& info_of(std::size_t feature) { return kInfo[feature]; }

int Spec::number(Feature feature) const {
  const std::string_view digits = text(feature);
  int result = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return result;
}

std::string to_string(const Spec& spec) {
  std::string text;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (i > 0) text += ' ';
    text += info_of(i).name;
    text += '=';
    text += spec.text(static_cast<Feature>(i));
  }
  return text;
}

bool compatible(std::size_t feature, std::uint8_t value, std::size_t other,
                std::uint8_t other_value) {
  if (feature > other) return compatible(other, other_value, feature, value);
  for (const Rule& rule : kRules)
    if (feature == rule.feature && other == rule.other &&
        info_of(feature).values[value] == rule.value &&
        info_of(other).values[other_value] != rule.only)
      return false;
  return true;
}

bool allowed(const Spec& spec) {
  for (std::size_t i = 0; i < kFeatures; ++i)
    for (std::size_t j = i + 1; j < kFeatures; ++j)
      if (!compatible(i, spec.value[i], j, spec.value[j])) return false;
  return true;
}

}  // namespace headwise::conformance
