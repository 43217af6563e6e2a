#include "tests/conformance/golden_case.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/conformance/backend_choice.h"
#include "tests/conformance/poisoned_tensor.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {
namespace {

using nlohmann::json;

AttentionShape shape_of(const json& from) {
  AttentionShape shape;
  shape.q_heads = from.at("q_heads");
  shape.kv_heads = from.at("kv_heads");
  shape.head_dim_qk = from.at("head_dim_qk");
  shape.head_dim_v = from.at("head_dim_v");
  shape.q_type = parse_dtype(from.at("q_type").get<std::string>());
  shape.kv_type = parse_dtype(from.at("kv_type").get<std::string>());
  shape.scale = from.at("scale").get<float>();
  shape.window_left = from.at("window_left");
  shape.window_right = from.at("window_right");
  shape.softcap = from.at("softcap");
  shape.sinks = from.at("sinks");
  shape.v_is_k_prefix = from.at("v_is_k_prefix");
  return shape;
}

std::vector<std::int32_t> numbers_in(const json& from, const char* key) {
  if (!from.contains(key) || from.at(key).is_null()) return {};
  return from.at(key).get<std::vector<std::int32_t>>();
}

/// Rows of a table, each filled up to `columns` with an entry that must not be read.
std::vector<std::int32_t> table_in(const json& from, const char* key, std::int32_t columns) {
  std::vector<std::int32_t> table;
  if (!from.contains(key) || from.at(key).is_null()) return table;
  for (const json& row : from.at(key)) {
    for (const json& entry : row) table.push_back(entry.get<std::int32_t>());
    for (auto i = static_cast<std::int32_t>(row.size()); i < columns; ++i) table.push_back(-1);
  }
  return table;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(chars.size());
  std::transform(chars.begin(), chars.end(), bytes.begin(), [](char c) { return std::byte(c); });
  return bytes;
}

/// An array of the file, or nothing.
TensorView array_in(const json& from, const char* key, const std::vector<std::byte>& bytes) {
  if (!from.at("arrays").contains(key)) return {};
  const json& meta = from.at("arrays").at(key);
  const auto offset = meta.at("offset").get<std::size_t>();
  const auto size = meta.at("bytes").get<std::size_t>();
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw std::runtime_error(std::string(key) + " lies outside the file");
  const std::string type = meta.at("dtype");
  TensorView view{.data = bytes.data() + offset,
                  .dtype = type == "f64" ? DType::f32 : parse_dtype(type)};
  const auto sizes = meta.at("shape").get<std::vector<std::int64_t>>();
  for (const std::int64_t length : sizes)
    view.sizes[static_cast<std::size_t>(view.rank++)] = length;
  std::int64_t stride = 1;
  for (auto i = sizes.size(); i-- > 0; stride *= sizes[i]) view.strides[i] = stride;
  return view;
}

std::string describe(const char* what, std::size_t where, double got, double exact, double bound) {
  std::ostringstream text;
  text << what << ' ' << where << ": " << got << " against " << exact << ", bound " << bound;
  return text.str();
}

}  // namespace

GoldenCase::GoldenCase(const std::filesystem::path& json_file) {
  const json from = json::parse(std::ifstream(json_file));
  bytes_ = read_file(std::filesystem::path(json_file).replace_extension(".bin"));
  name_ = from.at("name");
  shape_ = shape_of(from.at("shape"));
  page_size_ = from.at("page_size");
  q_lens_ = numbers_in(from, "q_lens");
  kv_lens_ = numbers_in(from, "kv_lens");
  q_start_ = numbers_in(from, "q_start");
  for (const json& row : from.at("block_tables"))
    columns_ = std::max(columns_, static_cast<std::int32_t>(row.size()));
  pages_ = table_in(from, "block_tables", columns_);
  positions_ = table_in(from, "page_pos", columns_);
  out_bound_ = from.at("rel_l2");
  lse_bound_ = from.at("lse_abs");

  q_ = array_in(from, "q", bytes_);
  kv_.k = array_in(from, "k", bytes_);
  kv_.v = array_in(from, "v", bytes_);
  sinks_ = static_cast<const float*>(array_in(from, "sinks", bytes_).data);
  out_ = static_cast<const double*>(array_in(from, "out", bytes_).data);
  lse_ = static_cast<const double*>(array_in(from, "lse", bytes_).data);
  const TensorView k_scale = array_in(from, "k_scale", bytes_);
  const TensorView v_scale = array_in(from, "v_scale", bytes_);
  if (shape_.kv_type == DType::i8) {
    kv_.k_scale = k_scale;
    if (!shape_.v_is_k_prefix) kv_.v_scale = v_scale;
  } else if (k_scale) {
    if (k_scale.sizes[0] > 1) shape_.fp8_scale = ScaleGranularity::kv_head;
    k_scale_ = static_cast<const float*>(k_scale.data);
    v_scale_ = static_cast<const float*>(v_scale.data);
  }
}

StepBatch GoldenCase::step() const {
  StepBatch step;
  step.q = q_;
  step.q_lens = q_lens_;
  step.kv_lens = kv_lens_;
  step.q_start = q_start_;
  step.tables = {.page_size = page_size_,
                 .pool_pages = kv_.k.sizes[0],
                 .columns = columns_,
                 .pages = pages_.data(),
                 .positions = positions_.empty() ? nullptr : positions_.data(),
                 .request_stride = columns_};
  return step;
}

Support GoldenCase::explain(const Backend& backend, bool f32_out) const {
  StepBatch planned = step();
  planned.out.dtype = f32_out ? DType::f32 : shape_.out_type();
  Problem problem = problem_of(shape_, planned);
  problem.device = device_for(backend);
  return backend.explain(problem, this_machine());
}

std::string GoldenCase::fault(const Backend& backend, bool f32_out, bool tight) const {
  const std::int64_t tokens = q_.sizes[0];
  PoisonedTensor out(f32_out ? DType::f32 : shape_.out_type(),
                     {tokens, shape_.q_heads, shape_.head_dim_v}, Memory::dense);
  PoisonedTensor lse(DType::f32, {tokens, shape_.q_heads}, Memory::dense);
  StepBatch planned = step();
  planned.out = out.mutable_view();
  planned.lse = lse.mutable_view();
  run_step(backend, shape_, planned, kv_,
           {.sinks = sinks_, .k_scale = k_scale_, .v_scale = v_scale_});
  constexpr double kTight = 1e-6;
  const double largest = (lse_bound_ - std::max(1e-5, 2.0 * out_bound_));  // 2^-22 max |LSE|
  return judge(out.values(), lse.values(), tight ? kTight : out_bound_,
               tight ? kTight + largest : lse_bound_);
}

std::string GoldenCase::judge(const std::vector<float>& out, const std::vector<float>& lse,
                              double out_bound, double lse_bound) const {
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!(lse[i] == lse_[i] || std::fabs(lse[i] - lse_[i]) <= lse_bound))
      return describe("lse", i, lse[i], lse_[i], lse_bound);
  std::size_t at = 0;
  for (std::size_t r = 0; r < q_lens_.size(); ++r) {
    double error = 0.0;
    double norm = 0.0;
    const auto rows = static_cast<std::size_t>(q_lens_[r]) *
                      static_cast<std::size_t>(shape_.q_heads * shape_.head_dim_v);
    for (const std::size_t end = at + rows; at < end; ++at) {
      error += (out[at] - out_[at]) * (out[at] - out_[at]);
      norm += out_[at] * out_[at];
    }
    if (!(std::sqrt(error) <= out_bound * std::sqrt(norm)))
      return describe("|out - exact| of request", r, std::sqrt(error), std::sqrt(norm), out_bound);
  }
  return {};
}

std::vector<GoldenCase> golden_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<GoldenCase> cases;
  for (const auto& file : files) cases.emplace_back(file);
  return cases;
}

}  // namespace headwise::conformance
