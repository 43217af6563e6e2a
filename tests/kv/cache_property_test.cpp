// Random operations on small caches, beside a model that holds the tokens themselves.
// HEADWISE_KV_OPERATIONS says how many, RC_PARAMS what rapidcheck reads ("seed=2").

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>

#include "tests/kv/cache_model.h"

namespace headwise {

// Found by argument-dependent lookup.
void showValue(const CacheOp& op, std::ostream& out) { out << "\n  " << op; }
void showValue(const CacheSetup& setup, std::ostream& out) { out << setup; }

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kOperations = 100'000;
#else
constexpr std::int64_t kOperations = 1'000'000;
#endif
constexpr int kMostOps = 1000;    // of one cache
constexpr int kFewestMean = 450;  // a little less than half of it

std::int64_t wanted_operations() {
  const char* wish = std::getenv("HEADWISE_KV_OPERATIONS");
  return wish == nullptr ? kOperations : std::atoll(wish);
}

std::uint32_t below(rc::Random& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random.next() % bound);
}

CacheSetup::Group random_group(rc::Random& random, int page_size) {
  CacheSetup::Group group;
  group.pages = 1 + static_cast<int>(below(random, below(random, 3) == 0 ? 5 : 16));
  group.layers = 1 + static_cast<int>(below(random, 2));
  if (below(random, 2) == 0) return group;
  group.window =
      static_cast<int>(below(random, 3) == 0 ? 0 : below(random, 3 * std::uint32_t(page_size)));
  group.slack = below(random, 2) == 0 ? 0 : static_cast<int>(below(random, 6));
  return group;
}

CacheSetup random_setup(rc::Random random) {
  CacheSetup setup;
  setup.page_size = 1 + static_cast<int>(below(random, 5));
  setup.max_sequences = 1 + static_cast<int>(below(random, 5));
  setup.max_requests = 1 + static_cast<int>(below(random, 3));
  setup.max_tokens = 1 + static_cast<int>(below(random, 20));
  setup.min_partial = below(random, 3) == 0 ? 1 + static_cast<int>(below(random, 3)) : 1;
  setup.prefix_cache = below(random, 6) != 0;
  setup.groups.clear();
  const std::uint32_t groups = 1 + below(random, 3);
  for (std::uint32_t i = 0; i < groups; ++i)
    setup.groups.push_back(random_group(random, setup.page_size));
  return setup;
}

/// The same without a group, or with fewer features.
rc::Seq<CacheSetup> simpler(const CacheSetup& setup) {
  std::vector<CacheSetup> all;
  const auto offer = [&](auto change) {
    CacheSetup simple = setup;
    change(simple);
    all.push_back(std::move(simple));
  };
  for (std::size_t i = 0; setup.groups.size() > 1 && i < setup.groups.size(); ++i)
    offer([&](CacheSetup& s) { s.groups.erase(s.groups.begin() + std::int64_t(i)); });
  for (std::size_t i = 0; i < setup.groups.size(); ++i) {
    const CacheSetup::Group& group = setup.groups[i];
    if (group.layers > 1) offer([&](CacheSetup& s) { s.groups[i].layers = 1; });
    if (group.slack > 0) offer([&](CacheSetup& s) { s.groups[i].slack = 0; });
    if (group.window >= 0) offer([&](CacheSetup& s) { s.groups[i].window = -1; });
    if (group.pages > 1) offer([&](CacheSetup& s) { --s.groups[i].pages; });
  }
  if (setup.prefix_cache) offer([&](CacheSetup& s) { s.prefix_cache = false; });
  if (setup.page_size > 1) offer([&](CacheSetup& s) { --s.page_size; });
  if (setup.max_sequences > 1) offer([&](CacheSetup& s) { --s.max_sequences; });
  if (setup.max_requests > 1) offer([&](CacheSetup& s) { --s.max_requests; });
  return rc::seq::fromContainer(std::move(all));
}

CacheOp::Kind random_kind(rc::Random& random) {
  using Kind = CacheOp::Kind;
  constexpr std::pair<Kind, std::uint32_t> kWeights[] = {
      {Kind::create, 5},        {Kind::create_with_prompt, 18},
      {Kind::fork, 8},          {Kind::begin, 52},
      {Kind::commit_some, 10},  {Kind::rollback, 5},
      {Kind::drop_step, 3},     {Kind::truncate, 9},
      {Kind::free, 14},         {Kind::misuse, 4},
      {Kind::clear_prefixes, 0}};
  if (below(random, 300) == 0) return Kind::clear_prefixes;
  std::uint32_t sum = 0;
  for (const auto& [kind, weight] : kWeights) sum += weight;
  std::uint32_t left = below(random, sum);
  for (const auto& [kind, weight] : kWeights) {
    if (left < weight) return kind;
    left -= weight;
  }
  return Kind::create;
}

CacheOp random_op(rc::Random random) {
  CacheOp op{.kind = random_kind(random)};
  const std::uint64_t bits = random.next();
  op.a = bits & 0xff;
  op.b = bits >> 8 & 0xfff;
  op.c = bits >> 20 & 0xffff;
  op.d = bits >> 36 & 0x3fff;
  return op;
}

rc::Seq<CacheOp> simpler(const CacheOp& op) {
  std::vector<CacheOp> all;
  for (std::uint32_t CacheOp::*field : {&CacheOp::a, &CacheOp::b, &CacheOp::c, &CacheOp::d})
    for (const std::uint32_t value : {0U, op.*field / 16, op.*field / 2, op.*field - 1})
      if (value < op.*field) {
        all.push_back(op);
        all.back().*field = value;
      }
  return rc::seq::fromContainer(std::move(all));
}

template <class T, class Make>
rc::Gen<T> generator(Make make) {
  return [make](const rc::Random& random, int) {
    return rc::shrinkable::shrinkRecur(make(random), [](const T& value) { return simpler(value); });
  };
}

void print_parameters(std::int64_t cases) {
  const std::string ours = "seed=20240607 max_success=" + std::to_string(cases);
  setenv("RC_PARAMS", ours.c_str(), 0);
  std::cout << "RC_PARAMS=\"" << std::getenv("RC_PARAMS") << "\"\n";
}

TEST(CacheProperty, RandomOperationsDoWhatTheModelDoes) {
  const std::int64_t wanted = wanted_operations();
  print_parameters(std::max<std::int64_t>(1, wanted / kFewestMean));
  const auto setups = generator<CacheSetup>(random_setup);
  const auto ops = rc::gen::resize(
      kMostOps, rc::gen::container<std::vector<CacheOp>>(generator<CacheOp>(random_op)));
  std::int64_t done = 0;
  EXPECT_TRUE(rc::check("a cache does what its model does", [&] {
    const CacheSetup setup = *setups;
    CacheModel model(setup);
    for (const CacheOp& op : *ops) {
      model.apply(op);
      ++done;
    }
    model.finish();
  }));
  std::cout << done << " operations\n";
  if (wanted == kOperations && !HasFailure()) {
    EXPECT_GE(done, wanted);
  }
}

}  // namespace
}  // namespace headwise
