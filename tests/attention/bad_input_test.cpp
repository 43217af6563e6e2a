// Bad input is refused by an error that names the field and its value, before anything is written;
// what merely looks odd is not.

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "headwise/error.h"
#include "headwise/merge.h"
#include "headwise/registry.h"
#include "tests/attention/bad_input_entries.h"

namespace headwise::bad_input {
namespace {

std::unique_ptr<World> world_of(Kind kind) {
  const DType kv_type = kind == Kind::int8 ? DType::i8 : DType::f32;
  auto world =
      std::make_unique<World>(kv_type, kind == Kind::packed ? KvLayout::packed : KvLayout::paged);
  if (kind == Kind::prefix) {
    world->shape.v_is_k_prefix = true;
    world->kv.v = {};
  }
  return world;
}

/// Backends for tensors on the CPU that this machine can run.
std::vector<const Backend*> cpu_backends(Kind kind = Kind::paged) {
  const auto world = world_of(kind);
  const Problem problem = problem_of(world->shape, world->step);
  std::vector<const Backend*> result;
  for (const Backend* backend : Registry::builtin().backends())
    if (backend->explain(problem, this_machine())) result.push_back(backend);
  return result;
}

/// Expects an Error(invalid_input) whose text is one line with all the words.
void expect_error(const std::function<void()>& call, const std::vector<std::string>& words) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const auto& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
    return;
  }
  ADD_FAILURE() << "not refused";
}

TEST(BadInput, EachFieldIsNamedAndNothingIsWritten) {
  for (const Entry& entry : all_entries())
    for (const Backend* backend : cpu_backends(entry.kind)) {
      SCOPED_TRACE(std::string(backend->name()) + ": " + entry.what);
      const auto world = world_of(entry.kind);
      if (entry.spoil != nullptr) entry.spoil(*world);
      expect_error([&] { world->use(*backend, entry.spoil_args); }, entry.words);
      EXPECT_TRUE(world->outputs_untouched());
    }
}

TEST(BadInput, TheUnspoiledWorldsRun) {
  for (const Kind kind : {Kind::paged, Kind::packed, Kind::int8, Kind::prefix})
    for (const Backend* backend : cpu_backends(kind)) {
      const auto world = world_of(kind);
      EXPECT_NO_THROW(world->use(*backend));
      EXPECT_FALSE(world->outputs_untouched());
    }
}

TEST(BadInput, AMissingWorkspaceIsRefusedWhereOneIsNeeded) {
  for (const Backend* backend : cpu_backends()) {
    World world;
    const auto plan = backend->plan(world.shape, world.step);
    const auto binding = backend->bind(world.shape, world.kv, KvLayout::paged);
    const RunArgs args{.kv = binding.get(), .sinks = world.sinks.data()};
    if (plan->workspace_bytes() == 0)
      EXPECT_NO_THROW(plan->check(args));
    else
      expect_error([&] { plan->check(args); }, {"workspace", "null"});
  }
}

TEST(BadInput, AFailedUpdateKeepsTheOldStep) {
  for (const Backend* backend : cpu_backends()) {
    SCOPED_TRACE(backend->name());
    World expected;
    expected.use(*backend);
    World world;
    World other;
    const auto plan = backend->plan(world.shape, world.step);
    const auto refuse = [&](void (*spoil)(World&), const std::vector<std::string>& words) {
      const auto next = world_of(Kind::paged);
      spoil(*next);
      expect_error([&] { plan->update(next->step); }, words);
    };
    refuse([](World& w) { w.kv_lens[1] = 41; }, {"capacity.kv_len", "40", "41"});
    refuse(
        [](World& w) {
          w.q_lens = {3, 1};
          w.outputs.resize(4 * 4 * kDim);
          w.lses.resize(4 * 4);
          w.step.q = dense(w.numbers.data(), DType::f32, {4, 4, kDim});
          w.step.out = dense(static_cast<void*>(w.outputs.data()), DType::f32, {4, 4, kDim});
          w.step.lse = dense(static_cast<void*>(w.lses.data()), DType::f32, {4, 4});
        },
        {"capacity.tokens", "3", "4"});
    refuse([](World& w) { w.pages[3] = 40; }, {"entry 0", "request 1", "40"});
    refuse([](World& w) { w.step.q.dtype = DType::bf16; }, {"q.dtype", "bf16"});
    refuse(
        [](World& w) {
          w.step.layout = KvLayout::packed;
          w.step.kv_start = w.kv_start;
          w.step.packed_tokens = 45;
        },
        {"layout"});

    const auto binding = backend->bind(world.shape, world.kv, KvLayout::paged);
    std::vector<std::byte> memory(static_cast<std::size_t>(plan->workspace_bytes()) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    RunArgs args{.kv = binding.get(), .sinks = world.sinks.data()};
    args.workspace = memory.data() + (64 - address % 64) % 64;
    plan->run(args);
    EXPECT_EQ(world.outputs, expected.outputs);
    EXPECT_EQ(world.lses, expected.lses);
  }
}

TEST(BadInput, WhatIsNeverReadMayBeAnything) {
  constexpr void (*kOdd[])(World&) = {
      [](World& w) { w.pages[1] = -77; },  // behind a request's last page
      [](World& w) {                       // pages before every window
        w.shape.window_left = 5;
        w.pages[3] = 1 << 30;
        w.pages[4] = -1;
      },
      [](World& w) {  // pages behind every row
        w.lens = {3, 2};
        w.step.q_start = w.lens;
        w.pages[4] = w.pages[5] = -9;
      },
      [](World& w) {  // tables of a request without new tokens
        w.q_lens = {3, 0};
        w.pages[3] = w.pages[4] = w.pages[5] = 4000;
      },
      [](World& w) {  // positions behind a request's last page
        w.positions[1] = w.positions[2] = -5;
        w.step.tables.positions = w.positions.data();
      },
      [](World& w) { w.step.tables.head_stride = 123456; },  // with one table a request
      [](World& w) {  // pages that differ behind a shared prefix
        w.pages[3] = w.pages[0];
        w.lens = {5, 16};
        w.step.prefix_group = w.prefix_group;
        w.step.prefix_tokens = w.lens;
      },
  };
  for (const Backend* backend : cpu_backends())
    for (std::size_t i = 0; i < std::size(kOdd); ++i) {
      World world;
      kOdd[i](world);
      EXPECT_NO_THROW(world.use(*backend)) << "entry " << i;
    }
}

TEST(BadInput, EmptyTensorsMayBeNull) {
  for (const Backend* backend : cpu_backends()) {
    World world;
    world.q_lens = {0, 0};
    world.step.q = dense(static_cast<const void*>(nullptr), DType::f32, {0, 4, kDim});
    world.step.out = dense(static_cast<void*>(nullptr), DType::f32, {0, 4, kDim});
    world.step.lse = dense(static_cast<void*>(nullptr), DType::f32, {0, 4});
    EXPECT_NO_THROW(world.use(*backend));
  }
}

TEST(BadInput, ACpuBackendRefusesTensorsOfAGpu) {
  for (const Backend* backend : cpu_backends()) {
    World world;
    world.step.q.device = world.step.out.device = world.step.lse.device =
        world.step.tables.device = {DeviceType::cuda, 0};
    try {
      (void)backend->plan(world.shape, world.step);
      ADD_FAILURE() << "planned";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_possible);
      EXPECT_NE(std::string(error.what()).find("cuda:0"), std::string::npos) << error.what();
    }
  }
}

TEST(BadInput, MergeNamesThePartAndWritesNothing) {
  struct MergeEntry {
    void (*spoil)(PartialResult&, World&);
    std::vector<std::string> words;
  };
  const MergeEntry entries[] = {
      {[](PartialResult& p, World&) { p.out.dtype = DType::bf16; }, {"parts[1].out", "bf16"}},
      {[](PartialResult& p, World&) { p.out.sizes[2] = 4; }, {"parts[1].out.sizes[2]", "4"}},
      {[](PartialResult& p, World&) { p.out.sizes[0] = 2; }, {"parts[1].out.sizes[0]", "2"}},
      {[](PartialResult& p, World&) { p.out.strides[2] = 2; }, {"parts[1].out.strides[2]", "2"}},
      {[](PartialResult& p, World&) { p.lse = {}; }, {"parts[1].lse"}},
      {[](PartialResult& p, World&) { p.lse.dtype = DType::f16; }, {"parts[1].lse", "f16"}},
      {[](PartialResult& p, World&) { p.lse.sizes[1] = 3; }, {"parts[1].lse.sizes[1]", "3"}},
      {[](PartialResult& p, World&) { p.lse.data = nullptr; }, {"parts[1].lse.data", "null"}},
      {[](PartialResult&, World& w) { w.step.out.dtype = DType::f8e4m3; }, {"out.dtype", "f8e4m3"}},
      {[](PartialResult&, World& w) { w.step.out.strides[0] = 0; }, {"out.strides"}},
      {[](PartialResult&, World& w) {
         w.step.out.device = {DeviceType::cuda, 1};
       },
       {"device", "cuda:1"}},
      {[](PartialResult&, World& w) { w.step.lse.sizes[0] = 5; }, {"lse.sizes[0]", "5"}},
  };
  for (const MergeEntry& entry : entries) {
    World world;
    const PartialResult good{dense(world.numbers.data(), DType::f32, {3, 4, kDim}),
                             dense(world.numbers.data(), DType::f32, {3, 4})};
    PartialResult parts[] = {good, good};
    entry.spoil(parts[1], world);
    expect_error([&] { merge(parts, nullptr, world.step.out, world.step.lse); }, entry.words);
    EXPECT_TRUE(world.outputs_untouched());
  }
}

}  // namespace
}  // namespace headwise::bad_input
