// Scales of 8-bit keys and values.

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

TEST(Scales, OfInt8ValuesMayBeOfAnySize) {
  Recipe recipe{.shape = {.q_heads = 8,
                          .kv_heads = 2,
                          .head_dim_qk = 64,
                          .head_dim_v = 64,
                          .kv_type = DType::i8},
                .kv_lens = {700, 900, 3000}};
  for (const std::int32_t most : {40, 2}) {
    recipe.q_lens = {1, most, 3};
    for (const double scale : {1e-12, 1e-6, 1e6, 1e12}) {
      recipe.value_scale = scale;
      const Case c(recipe);
      const Outputs exact = reference_answer(c);
      for_each_able_backend(c, [&](const Backend& backend) {
        Outputs got = own_outputs(c);
        run(backend, c, got);
        EXPECT_EQ(fault_in(c, exact, got), "")
            << "up to " << most << " new tokens, scales about " << scale * 0.02;
      });
    }
  }
}

}  // namespace
}  // namespace headwise::conformance
