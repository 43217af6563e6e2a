#include "tests/cuda/replays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "headwise/registry.h"
#include "tests/cuda/fixed_buffers.h"

namespace headwise::conformance {
namespace {

AttentionShape shape_of_steps() {
  return {.q_heads = 8, .kv_heads = 2, .head_dim_qk = 128, .head_dim_v = 128, .sinks = true};
}

/// Steps of one shape within one capacity.
std::vector<Recipe> steps(int table_heads) {
  Recipe a{.shape = shape_of_steps(),
           .q_lens = {17, 0, 1, 4},
           .kv_lens = {17, 30, 200, 60},
           .table_heads = table_heads};
  a.options.capacity = {.requests = 6, .tokens = 64, .q_len = 40, .kv_len = 3000};
  Recipe b = a;
  b.q_lens = {1, 1, 2, 1, 1, 0};
  b.kv_lens = {1, 16, 17, 2900, 0, 0};
  Recipe c = a;
  c.q_lens = {0, 40};
  c.kv_lens = {0, 40};
  Recipe idle = a;
  idle.q_lens = {0, 0, 0, 0, 0, 0};
  idle.kv_lens = {0, 7, 0, 0, 0, 3000};
  std::vector<Recipe> all = {a, b, c, idle};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].seed = i + 5;
  return all;
}

/// The same, of requests that share prefixes of other lengths with others every time.
std::vector<Recipe> shared_steps() {
  Recipe a{.shape = shape_of_steps(),
           .q_lens = {1, 1, 1, 1, 3},
           .kv_lens = {700, 720, 1000, 705, 760},
           .shared_prefix = true};
  a.options.capacity = {.requests = 6, .tokens = 64, .q_len = 40, .kv_len = 3000};
  Recipe b = a;
  b.q_lens = {1, 20, 0, 1};
  b.kv_lens = {2000, 2100, 0, 2000};
  Recipe c = a;
  c.q_lens = {1, 1, 1, 1, 1, 1};
  c.kv_lens = {300, 310, 900, 299, 320, 301};
  c.shared_prefix = false;
  Recipe d = a;
  d.q_lens = {30, 1, 1};
  d.kv_lens = {40, 500, 500};
  std::vector<Recipe> all = {a, b, c, d};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].seed = i + 50;
  return all;
}

void expect_replays(const Backend& backend, const Capture& capture, bool recapture,
                    const std::vector<Recipe>& recipes) {
  std::vector<Case> cases;
  std::vector<const Case*> pointers;
  for (const Recipe& recipe : recipes) cases.emplace_back(recipe);
  for (const Case& c : cases) pointers.push_back(&c);
  if (const Support support = explain(backend, cases[0]); !support) {
    std::printf("%s refused: %s\n", backend.name().data(), support.why_not.c_str());
    return;
  }
  FixedBuffers buffers(pointers);
  const PlanOptions& options = cases[0].recipe().options;
  const auto plan = backend.plan(cases[0].shape(), buffers.put(cases[0]), options);
  const auto binding = backend.bind(cases[0].shape(), buffers.kv(), KvLayout::paged);
  Workspace workspace(backend, plan->workspace_bytes());
  RunArgs args = buffers.args();
  args.kv = binding.get();
  args.workspace = workspace.data();
  auto replay = capture(*plan, args);
  for (const std::size_t next : {0, 1, 2, 3, 1, 0, 2}) {
    const Case& c = cases[next];
    SCOPED_TRACE("step " + std::to_string(next));
    plan->update(buffers.put(c));
    if (recapture) replay = capture(*plan, args);
    buffers.put(c);  // a capture may have run
    workspace.poison();
    Outputs replayed = own_outputs(c);
    for (int i = 0; i < 2; ++i) replay();
    finish_on_device();
    buffers.fetch(replayed);
    EXPECT_EQ(fault_in(c, reference_answer(c), replayed), "");
    EXPECT_TRUE(workspace.guard_intact());

    buffers.put(c);
    Outputs direct = own_outputs(c);
    plan->run(args);
    finish_on_device();
    buffers.fetch(direct);
    EXPECT_EQ(difference(replayed, direct), "");
  }
}

/// Lengths as they lie on the device.
struct Lengths {
  std::vector<std::int32_t> q_lens, kv_lens, q_start;
};

/// Request `r` of a case alone, with other lengths, by the reference.
Outputs exact_request(const Case& c, std::size_t r, std::int64_t token, const Lengths& lengths) {
  Outputs exact{
      PoisonedTensor(DType::f32, {lengths.q_lens[r], c.shape().q_heads, c.shape().head_dim_v},
                     Memory::dense),
      PoisonedTensor(DType::f32, {lengths.q_lens[r], c.shape().q_heads}, Memory::dense)};
  StepBatch step = c.step(exact.out, exact.lse);
  step.q.data = static_cast<const std::byte*>(step.q.data) +
                token * step.q.strides[0] * size_of(step.q.dtype);
  step.q.sizes[0] = lengths.q_lens[r];
  step.q_lens = {&lengths.q_lens[r], 1};
  step.kv_lens = {&lengths.kv_lens[r], 1};
  step.prefix_group = step.prefix_tokens = {};
  if (!lengths.q_start.empty()) step.q_start = {&lengths.q_start[r], 1};
  step.tables.pages += static_cast<std::int64_t>(r) * step.tables.request_stride;
  run_step(Registry::builtin().find("reference"), c.shape(), step, c.kv(), c.args());
  return exact;
}

void expect_request(const Case& c, const Outputs& exact, const Outputs& got, std::int64_t token) {
  double error = 0.0;
  double norm = 0.0;
  for (std::int64_t row = 0; row < exact.lse.view().sizes[0]; ++row)
    for (int head = 0; head < c.shape().q_heads; ++head) {
      const float exact_lse = exact.lse.load(exact.lse.offset_of(row, head));
      const float lse = got.lse.load(got.lse.offset_of(token + row, head));
      EXPECT_TRUE(lse == exact_lse || std::fabs(lse - exact_lse) <= lse_bound(c.shape(), exact_lse))
          << lse << " is not " << exact_lse << ", row " << row << " head " << head;
      for (int d = 0; d < c.shape().head_dim_v; ++d) {
        const double right = exact.out.load(exact.out.offset_of(row, head) + d);
        const double away = got.out.load(got.out.offset_of(token + row, head) + d) - right;
        error += away * away;
        norm += right * right;
      }
    }
  EXPECT_LE(std::sqrt(error), out_bound(c.shape()) * std::sqrt(norm));
}

/// Rows of a request past its length on the device.
void expect_untouched(const Case& c, const Outputs& got, std::int64_t from, std::int64_t to) {
  for (std::int64_t token = from; token < to; ++token)
    for (int head = 0; head < c.shape().q_heads; ++head) {
      EXPECT_TRUE(std::isnan(got.lse.load(got.lse.offset_of(token, head)))) << token;
      EXPECT_TRUE(std::isnan(got.out.load(got.out.offset_of(token, head)))) << token;
    }
}

void expect_answers(const Case& c, const Lengths& lengths, const Outputs& got) {
  std::int64_t token = 0;
  for (std::size_t r = 0; r < lengths.q_lens.size(); ++r) {
    SCOPED_TRACE("request " + std::to_string(r));
    expect_request(c, exact_request(c, r, token, lengths), got, token);
    const std::int64_t next = token + c.recipe().q_lens[r];
    expect_untouched(c, got, token + lengths.q_lens[r], next);
    token = next;
  }
}

/// Tables of requests that are idle on the device hold anything.
void spoil_idle_tables(const StepBatch& step, const Lengths& lengths) {
  const std::vector<std::int32_t> garbage(static_cast<std::size_t>(step.tables.columns), -1);
  for (std::size_t r = 0; r < lengths.q_lens.size(); ++r)
    if (lengths.q_lens[r] == 0)
      cuda::copy_to_device(const_cast<std::int32_t*>(step.tables.pages) +
                               static_cast<std::int64_t>(r) * step.tables.request_stride,
                           garbage.data(), static_cast<std::int64_t>(4 * garbage.size()));
}

void expect_lengths(const Backend& backend, const Capture& capture, const Recipe& recipe,
                    const std::vector<Lengths>& all) {
  const Case c(recipe);
  if (const Support support = explain(backend, c); !support) {
    std::printf("%s refused: %s\n", backend.name().data(), support.why_not.c_str());
    return;
  }
  FixedBuffers buffers({&c});
  const std::int64_t bytes = 4 * c.recipe().requests();
  const cuda::DeviceBuffer q_lens(0, bytes), kv_lens(0, bytes), q_start(0, bytes);
  for (const bool with_start : {false, true}) {
    StepBatch step = buffers.put(c);
    step.device_lengths = {.q_lens = q_lens.as<const std::int32_t>(),
                           .kv_lens = kv_lens.as<const std::int32_t>(),
                           .q_start = with_start ? q_start.as<const std::int32_t>() : nullptr};
    const auto send = [&](const Lengths& lengths) {
      cuda::copy_to_device(q_lens.data(), lengths.q_lens.data(), bytes);
      cuda::copy_to_device(kv_lens.data(), lengths.kv_lens.data(), bytes);
      cuda::copy_to_device(q_start.data(), lengths.q_start.data(), bytes);
      spoil_idle_tables(step, lengths);
    };
    send(all[0]);
    const auto plan = backend.plan(c.shape(), step, recipe.options);
    const auto binding = backend.bind(c.shape(), buffers.kv(), KvLayout::paged);
    Workspace workspace(backend, plan->workspace_bytes());
    RunArgs args = buffers.args();
    args.kv = binding.get();
    args.workspace = workspace.data();
    const auto replay = capture(*plan, args);
    for (std::size_t i = 0; i <= all.size(); ++i) {
      const Lengths& lengths = all[i % all.size()];
      SCOPED_TRACE("lengths " + std::to_string(i) + (with_start ? " with q_start" : ""));
      buffers.put(c);
      send(lengths);
      workspace.poison();
      replay();
      finish_on_device();
      Outputs got = own_outputs(c);
      buffers.fetch(got);
      expect_answers(c, lengths, got);
      EXPECT_TRUE(workspace.guard_intact());
    }
  }
}

}  // namespace

void expect_replays_for_other_steps(const Backend& backend, const Capture& capture,
                                    bool recapture) {
  for (const int table_heads : {1, 2}) {
    SCOPED_TRACE(std::to_string(table_heads) + " tables a request");
    expect_replays(backend, capture, recapture, steps(table_heads));
  }
  SCOPED_TRACE("shared prefixes");
  expect_replays(backend, capture, recapture, shared_steps());
}

void expect_lengths_from_the_device(const Backend& backend, const Capture& capture) {
  Recipe recipe{
      .shape = shape_of_steps(), .q_lens = {4, 1, 3, 1, 20}, .kv_lens = {64, 3000, 40, 16, 90}};
  recipe.shape.window_right = 0;
  expect_lengths(backend, capture, recipe,
                 {{recipe.q_lens, recipe.kv_lens, {60, 2999, 37, 15, 70}},
                  {{2, 1, 0, 1, 20}, {50, 2047, 40, 1, 20}, {48, 2046, 40, 0, 0}},
                  {{0, 0, 3, 1, 7}, {64, 0, 0, 16, 90}, {64, 0, -3, 15, 83}}});
  SCOPED_TRACE("shared prefixes");
  Recipe shared{.shape = shape_of_steps(),
                .q_lens = {1, 1, 2, 1, 9},
                .kv_lens = {700, 720, 760, 1000, 730},
                .shared_prefix = true};
  expect_lengths(backend, capture, shared,
                 {{shared.q_lens, shared.kv_lens, {699, 719, 758, 999, 721}},
                  {{0, 1, 1, 1, 9}, {0, 705, 759, 900, 730}, {0, 704, 758, 899, 721}},
                  {{0, 0, 0, 1, 0}, {5, 0, 9, 1000, 3}, {5, 0, 9, 999, 3}},
                  {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}});
}

}  // namespace headwise::conformance
