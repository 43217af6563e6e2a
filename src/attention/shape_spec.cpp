#include "attention/shape_spec.h"

#include <array>
#include <charconv>
#include <functional>
#include <set>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::string_view kExpected =
    "; a shape is like q32:kv8:d128, with any of :v64 :w4096 :cap50 :sinks :full :page16 :f8 :i8 "
    ":f16 "
    ":f32 :f8p :mla behind it";

/// A part without a number.
struct Flag {
  std::string_view name;
  void (*apply)(AttentionShape&);
};

constexpr std::array<Flag, 8> kFlags = {{
    {"sinks", [](AttentionShape& s) { s.sinks = true; }},
    {"full", [](AttentionShape& s) { s.window_right = -1; }},
    {"mla", [](AttentionShape& s) { s.v_is_k_prefix = true; }},
    {"f8", [](AttentionShape& s) { s.kv_type = DType::f8e4m3; }},
    {"i8", [](AttentionShape& s) { s.kv_type = DType::i8; }},
    {"f8p", [](AttentionShape& s) { s.q_type = s.kv_type = DType::f8e4m3; }},
    {"f16", [](AttentionShape& s) { s.q_type = s.kv_type = DType::f16; }},
    {"f32", [](AttentionShape& s) { s.q_type = s.kv_type = DType::f32; }},
}};

/// A part with a number behind its name; longer names first where one begins another.
struct Field {
  std::string_view name;
  void (*apply)(ShapeSpec&, int);
};

constexpr std::array<Field, 7> kFields = {{
    {"page", [](ShapeSpec& s, int n) { s.page_size = n; }},
    {"cap", [](ShapeSpec& s, int n) { s.shape.softcap = static_cast<float>(n); }},
    {"kv", [](ShapeSpec& s, int n) { s.shape.kv_heads = n; }},
    {"q", [](ShapeSpec& s, int n) { s.shape.q_heads = n; }},
    {"d", [](ShapeSpec& s, int n) { s.shape.head_dim_qk = n; }},
    {"v", [](ShapeSpec& s, int n) { s.shape.head_dim_v = n; }},
    {"w", [](ShapeSpec& s, int n) { s.shape.window_left = n - 1; }},
}};

int parse_number(std::string_view digits, std::string_view part, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  check(error == std::errc{} && end == digits.data() + digits.size() && value > 0, "shape part '",
        part, "' of '", text, "' needs a positive number", kExpected);
  return value;
}

/// Returns the part's name, so that a part given twice is seen.
std::string_view apply_part(ShapeSpec& spec, std::string_view part, std::string_view text) {
  for (const Flag& flag : kFlags)
    if (flag.name == part) return flag.apply(spec.shape), flag.name;
  for (const Field& field : kFields) {
    const bool matches = part.starts_with(field.name) && part.size() > field.name.size() &&
                         (part[field.name.size()] < 'a' || part[field.name.size()] > 'z');
    if (!matches) continue;
    field.apply(spec, parse_number(part.substr(field.name.size()), part, text));
    return field.name;
  }
  throw Error(ErrorCode::unknown_name,
              concat("shape part '", part, "' of '", text, "' is unknown", kExpected));
}

}  // namespace

ShapeSpec parse_shape_spec(std::string_view text) {
  ShapeSpec spec;
  std::set<std::string_view> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const std::string_view name = apply_part(spec, text.substr(begin, end - begin), text);
    check(seen.insert(name).second, "shape part '", name, "' is given twice in '", text, "'");
    begin = end + 1;
  }
  AttentionShape& shape = spec.shape;
  for (const std::string_view needed : {"q", "kv", "d"})
    check(seen.contains(needed), "shape '", text, "' lacks '", needed, "'", kExpected);
  if (shape.head_dim_v == 0) shape.head_dim_v = shape.head_dim_qk;
  validate(shape);
  return spec;
}

std::string to_string(const AttentionShape& shape) {
  std::string text = concat("q", shape.q_heads, ":kv", shape.kv_heads, ":d", shape.head_dim_qk);
  if (shape.head_dim_v != shape.head_dim_qk) text += concat(":v", shape.head_dim_v);
  if (shape.window_left >= 0) text += concat(":w", shape.window_left + 1);
  if (shape.softcap > 0.0F) text += concat(":cap", shape.softcap);
  if (shape.sinks) text += ":sinks";
  if (shape.window_right == -1) text += ":full";
  if (shape.window_right > 0) text += concat(":right", shape.window_right);
  if (shape.v_is_k_prefix) text += ":mla";
  if (shape.q_type == DType::f8e4m3 && shape.kv_type == DType::f8e4m3) return text + ":f8p";
  if (shape.q_type == shape.kv_type)
    return shape.q_type == DType::bf16 ? text : text + concat(":", name_of(shape.q_type));
  if (shape.q_type != DType::bf16) text += concat(":q-", name_of(shape.q_type));
  if (shape.kv_type == DType::f8e4m3) return text + ":f8";
  if (shape.kv_type == DType::i8) return text + ":i8";
  return text + concat(":kv-", name_of(shape.kv_type));
}

std::string to_string(const ShapeSpec& spec) {
  return to_string(spec.shape) + (spec.page_size > 0 ? concat(":page", spec.page_size) : "");
}

}  // namespace headwise
