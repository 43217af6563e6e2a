#include "tests/conformance/runner.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "headwise/registry.h"
#include "tests/conformance/backend_choice.h"

namespace headwise::conformance {
namespace {

/// One row and query head of an answer.
struct Row {
  std::size_t request;
  std::int32_t row;
  int head;
  std::size_t index;  ///< of the LSE; times head_dim_v: of the output
};

template <class Visit>
void for_each_row(const Recipe& recipe, const Visit& visit) {
  std::size_t index = 0;
  for (std::size_t r = 0; r < recipe.q_lens.size(); ++r)
    for (std::int32_t row = 0; row < recipe.q_lens[r]; ++row)
      for (int head = 0; head < recipe.shape.q_heads; ++head) visit(Row{r, row, head, index++});
}

std::string where(const Row& row) {
  std::ostringstream text;
  text << "request " << row.request << " row " << row.row << " head " << row.head << ": ";
  return text.str();
}

/// Norms of each request's outputs.
std::string fault_in_out(const Recipe& recipe, const std::vector<float>& exact,
                         const std::vector<float>& got, DType type) {
  std::vector<double> error(recipe.q_lens.size());
  std::vector<double> norm(recipe.q_lens.size());
  const auto dim = static_cast<std::size_t>(recipe.shape.head_dim_v);
  for_each_row(recipe, [&](const Row& row) {
    for (std::size_t i = row.index * dim; i < (row.index + 1) * dim; ++i) {
      const double away = static_cast<double>(got[i]) - exact[i];
      error[row.request] += away * away;
      norm[row.request] += static_cast<double>(exact[i]) * exact[i];
    }
  });
  const double bound = out_bound(recipe.shape);
  // Below 2^-14 f16 holds multiples of 2^-24 only: half of one is as near as any answer can come.
  const double granule = type == DType::f16 ? 0x1p-25 : 0.0;
  for (std::size_t r = 0; r < error.size(); ++r) {
    const double away = std::sqrt(error[r]);
    const double elements =
        static_cast<double>(recipe.q_lens[r]) * recipe.shape.q_heads * recipe.shape.head_dim_v;
    if (away <= bound * std::sqrt(norm[r]) + granule * std::sqrt(elements)) continue;  // not NaN
    std::ostringstream text;
    text << "request " << r << ": |out - exact| is " << away << ", |exact| is "
         << std::sqrt(norm[r]) << ", the bound is " << bound;
    return text.str();
  }
  return {};
}

std::string fault_in_row(const Case& c, const Row& row, const std::vector<float>& out,
                         bool has_keys) {
  if (has_keys) return {};
  const auto dim = static_cast<std::size_t>(c.shape().head_dim_v);
  for (std::size_t i = row.index * dim; i < (row.index + 1) * dim; ++i)
    if (out[i] != 0.0F) return where(row) + "sees no key; out is " + std::to_string(out[i]);
  return {};
}

std::string fault_in_lse(const Case& c, const Row& row, float exact, float got, bool has_keys) {
  std::ostringstream text;
  text << std::setprecision(9) << where(row) << "LSE is " << got << ", ";
  if (!has_keys) {
    const float empty = c.shape().sinks ? c.sinks()[static_cast<std::size_t>(row.head)] : -INFINITY;
    if (got == empty) return {};
    text << "a row without keys has " << empty;
    return text.str();
  }
  const double bound = lse_bound(c.shape(), exact);
  if (std::fabs(static_cast<double>(got) - exact) <= bound) return {};
  text << "exact is " << exact << ", the bound is " << bound;
  return text.str();
}

/// Rows see the same keys for all query heads of a KV head, and mostly for all heads.
std::vector<bool> rows_with_keys(const Recipe& recipe) {
  std::vector<bool> result;
  const int group = recipe.shape.group_size();
  bool has = false;
  for_each_row(recipe, [&](const Row& row) {
    const bool another_table = row.head % group == 0 && recipe.table_heads > 1;
    if (row.head == 0 || another_table)
      has = recipe.row_has_keys(row.request, row.row, row.head / group);
    result.push_back(has);
  });
  return result;
}

}  // namespace

Outputs own_outputs(const Case& c) { return {c.own_out(), c.own_lse()}; }
Outputs exact_outputs(const Case& c) { return {c.exact_out(), c.exact_lse()}; }

PlannedRun::PlannedRun(const Backend& backend, const Case& c, Outputs& outputs)
    : outputs_(outputs),
      placed_(backend, c.shape(), c.step(outputs.out, outputs.lse), c.kv(), c.args()),
      binding_(backend.bind(c.shape(), placed_.kv(), c.recipe().layout)),
      plan_(backend.plan(c.shape(), placed_.step(), c.recipe().options)),
      workspace_(backend, plan_->workspace_bytes()) {
  if (plan_->backend() != backend.name() || binding_->backend() != backend.name())
    throw std::runtime_error("a plan or a binding of another backend");
}

void PlannedRun::operator()() {
  outputs_.out.poison();
  if (outputs_.lse) outputs_.lse.poison();
  placed_.run(*plan_, *binding_, workspace_);
  if (!outputs_.out.gaps_untouched()) throw std::runtime_error("wrote between the rows of out");
  if (outputs_.lse && !outputs_.lse.gaps_untouched())
    throw std::runtime_error("wrote between the rows of lse");
}

void run_step(const Backend& backend, const AttentionShape& shape, const StepBatch& step,
              const KvView& kv, const RunArgs& args, const PlanOptions& options) {
  PlacedStep placed(backend, shape, step, kv, args);
  const auto plan = backend.plan(shape, placed.step(), options);
  const auto binding = backend.bind(shape, placed.kv(), step.layout);
  Workspace workspace(backend, plan->workspace_bytes());
  placed.run(*plan, *binding, workspace);
}

void run(const Backend& backend, const Case& c, Outputs& outputs) {
  PlannedRun planned(backend, c, outputs);
  planned();
}

Outputs reference_answer(const Case& c) {
  Outputs outputs = exact_outputs(c);
  run(Registry::builtin().find("reference"), c, outputs);
  return outputs;
}

Support explain(const Backend& backend, const Case& c) {
  Outputs outputs = own_outputs(c);
  auto problem = problem_of(c.shape(), c.step(outputs.out, outputs.lse), c.recipe().options);
  problem.device = device_for(backend);
  return backend.explain(problem, this_machine());
}

std::string fault_in(const Case& c, const Outputs& exact, const Outputs& got) {
  const auto out = got.out.values();
  const auto lse = got.lse ? got.lse.values() : std::vector<float>{};
  const auto exact_lse = exact.lse.values();
  const auto has_keys = rows_with_keys(c.recipe());
  std::string fault;
  for_each_row(c.recipe(), [&](const Row& row) {
    if (fault.empty()) fault = fault_in_row(c, row, out, has_keys[row.index]);
    if (fault.empty() && got.lse)
      fault = fault_in_lse(c, row, exact_lse[row.index], lse[row.index], has_keys[row.index]);
  });
  return fault.empty() ? fault_in_out(c.recipe(), exact.out.values(), out, got.out.view().dtype)
                       : fault;
}

std::string difference(const Outputs& a, const Outputs& b) {
  if (a.out.bits() != b.out.bits()) return "outputs differ";
  if (a.lse && b.lse && a.lse.bits() != b.lse.bits()) return "LSEs differ";
  return {};
}

}  // namespace headwise::conformance
