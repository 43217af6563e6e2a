#include "ops/linear.h"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <cmath>
#include <csignal>
#include <random>
#include <utility>
#include <vector>

#include "headwise/error.h"

namespace headwise {
namespace {

struct Sizes {
  int m, n, k;
};

class Linear : public testing::TestWithParam<Sizes> {};

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

double dot(const float* a, const float* b, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += double(a[i]) * b[i];
  return sum;
}

TEST_P(Linear, EqualsLoopsInDouble) {
  const auto [m, n, k] = GetParam();
  const std::vector<float> x = random_floats(std::size_t(m) * k, 1);
  const std::vector<float> w = random_floats(std::size_t(n) * k, 2);
  std::vector<float> y(std::size_t(m) * n, NAN);  // whatever was there must not come through
  linear(dense(x.data(), DType::f32, {m, k}), dense(w.data(), DType::f32, {n, k}),
         dense(y.data(), DType::f32, {m, n}));
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      const double exact = dot(&x[std::size_t(row) * k], &w[std::size_t(column) * k], k);
      ASSERT_NEAR(y[std::size_t(row) * n + column], exact, 1e-5 * k) << row << ", " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Linear,
                         testing::Values(Sizes{1, 1, 1}, Sizes{1, 33, 17}, Sizes{2, 5, 576},
                                         Sizes{7, 960, 64}, Sizes{65, 31, 129}));

TEST(LinearResidual, AddsToWhatWasThere) {
  const std::vector<float> x = {1, 2};
  const std::vector<float> w = {3, 4, 5, 6};
  std::vector<float> y = {100, 200};
  linear(dense(x.data(), DType::f32, {1, 2}), dense(w.data(), DType::f32, {2, 2}),
         dense(y.data(), DType::f32, {1, 2}), Into::add);
  EXPECT_EQ(y, (std::vector<float>{111, 217}));
}

TEST(LinearStrides, RowsMayLieApart) {
  const std::vector<float> x = {1, 2, -9, 3, 4, -9};
  const std::vector<float> w = {1, 1};
  std::vector<float> y = {0, 7, 0, 7};
  TensorView apart = dense(x.data(), DType::f32, {2, 2});
  apart.strides[0] = 3;
  MutableTensorView out = dense(y.data(), DType::f32, {2, 1});
  out.strides[0] = 2;
  linear(apart, dense(w.data(), DType::f32, {1, 2}), out);
  EXPECT_EQ(y, (std::vector<float>{3, 7, 7, 7}));
}

TEST(LinearErrors, NameTheSizes) {
  std::vector<float> data(64);
  const auto view = [&](std::int64_t rows, std::int64_t columns) {
    return dense(data.data(), DType::f32, {rows, columns});
  };
  EXPECT_THROW(linear(view(2, 3), view(4, 5), view(2, 4)), Error);
  EXPECT_THROW(linear(view(2, 3), view(4, 3), view(2, 5)), Error);
  EXPECT_THROW(
      linear(dense(std::as_const(data).data(), DType::f16, {2, 3}), view(4, 3), view(2, 4)), Error);
  TensorView transposed = view(3, 2);
  std::swap(transposed.strides[0], transposed.strides[1]);
  EXPECT_THROW(linear(transposed, view(4, 2), view(3, 4)), Error);
}

volatile std::sig_atomic_t handled = 0;

/// A handler that runs every half millisecond, as a profiler's or an interpreter's might.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action = {};
    action.sa_handler = [](int) { handled = handled + 1; };
    sigaction(SIGALRM, &action, &before_);
    const itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~SignalStorm() {
    const itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
};

// Without its signals held, oneDNN's generated code lets a handler write over the heap.
TEST(LinearSignals, HandlersDoNoHarm) {
  const SignalStorm storm;
  for (const auto& [m, n, k] : {Sizes{512, 960, 576}, Sizes{512, 576, 1536}, Sizes{1, 3072, 576}}) {
    const std::vector<float> x(std::size_t(m) * k, 1.0F);
    const std::vector<float> w(std::size_t(n) * k, 1.0F);
    std::vector<float> y(std::size_t(m) * n);
    for (int i = 0; i < 20; ++i) {
      linear(dense(x.data(), DType::f32, {m, k}), dense(w.data(), DType::f32, {n, k}),
             dense(y.data(), DType::f32, {m, n}));
      ASSERT_EQ(y, std::vector<float>(y.size(), float(k)));
    }
  }
  EXPECT_GT(handled, 0);
}

}  // namespace
}  // namespace headwise
