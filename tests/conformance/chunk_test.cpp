// A prompt in chunks gives what it gives at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

std::vector<Recipe> prompts() {
  const AttentionShape causal{
      .q_heads = 6, .kv_heads = 2, .head_dim_qk = 72, .head_dim_v = 56, .sinks = true};
  AttentionShape window = causal;
  window.window_left = 21;
  AttentionShape f32 = causal;
  f32.q_type = f32.kv_type = DType::f32;
  std::vector<Recipe> result;
  for (const AttentionShape& shape : {causal, window, f32})
    result.push_back({.shape = shape, .q_lens = {77}, .kv_lens = {77}});
  return result;
}

/// Tokens [from, to) of a prompt whose first `to` keys are in the cache.
void run_chunk(const Backend& backend, const Case& c, const PlanOptions& options, Outputs& outputs,
               std::int32_t from, std::int32_t to) {
  StepBatch step = c.step(outputs.out, outputs.lse);
  const std::int32_t q_len = to - from;
  const auto narrow = [&](auto& view) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                    const std::byte, std::byte>;
    view.data = static_cast<Byte*>(view.data) + from * view.strides[0] * size_of(view.dtype);
    view.sizes[0] = q_len;
  };
  narrow(step.q);
  narrow(step.out);
  narrow(step.lse);
  step.q_lens = {&q_len, 1};
  step.kv_lens = {&to, 1};
  run_step(backend, c.shape(), step, c.kv(), c.args(), options);
}

Outputs in_chunks(const Backend& backend, const Case& c, const PlanOptions& options,
                  std::int32_t chunk) {
  Outputs outputs = own_outputs(c);
  const std::int32_t tokens = c.recipe().q_lens[0];
  for (std::int32_t from = 0; from < tokens; from += chunk)
    run_chunk(backend, c, options, outputs, from, std::min(tokens, from + chunk));
  return outputs;
}

TEST(Chunks, EqualTheWholePrompt) {
  for (const Recipe& recipe : prompts()) {
    const Case c(recipe);
    const Outputs exact = reference_answer(c);
    for_each_able_backend(c, [&](const Backend& backend) {
      for (const std::int32_t chunk : {1, 7, 16, 30, 76})
        EXPECT_EQ(fault_in(c, exact, in_chunks(backend, c, recipe.options, chunk)), "") << chunk;
    });
  }
}

TEST(Chunks, ChangeNoBitWithBatchInvariance) {
  for (Recipe recipe : prompts()) {
    recipe.options.batch_invariant = true;
    const Case c(recipe);
    for_each_able_backend(c, [&](const Backend& backend) {
      const Outputs whole = in_chunks(backend, c, recipe.options, 77);
      for (const std::int32_t chunk : {1, 16, 30})
        EXPECT_EQ(difference(whole, in_chunks(backend, c, recipe.options, chunk)), "") << chunk;
    });
  }
}

}  // namespace
}  // namespace headwise::conformance
