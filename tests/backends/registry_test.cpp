#include "headwise/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/check.h"

namespace headwise {
namespace {

/// A backend that never runs: it needs an instruction set, or a GPU generation with enough shared
/// memory.
class Needs final : public Backend {
 public:
  struct What {
    std::string_view name;
    bool CpuInfo::*instruction_set = nullptr;
    int compute_capability = 0;  // 0: runs on the CPU
    std::int64_t shared_memory = 0;
    std::string_view drawback = "slower";
  };

  explicit Needs(const What& what) : what_(what) {}
  std::string_view name() const override { return what_.name; }
  DeviceType device_type() const override {
    return what_.compute_capability > 0 ? DeviceType::cuda : DeviceType::cpu;
  }
  std::string_view drawback(const Machine&) const override { return what_.drawback; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {16}; }

  Support explain(const Problem& problem, const Machine& machine) const override {
    if (problem.device.type != device_type())
      return Support::no("tensors are on " + to_string(problem.device));
    if (what_.instruction_set != nullptr && !(machine.cpu.*what_.instruction_set))
      return Support::no("the processor lacks its instructions");
    if (what_.compute_capability == 0) return Support::yes("row 0");
    const GpuInfo& gpu = machine.gpus.at(problem.device.index);
    if (gpu.compute_capability < what_.compute_capability)
      return Support::no(concat("needs compute capability ", what_.compute_capability, ", ",
                                gpu.name, " has ", gpu.compute_capability));
    if (gpu.shared_memory_per_block < what_.shared_memory)
      return Support::no(concat("needs ", what_.shared_memory, " bytes of shared memory"));
    return Support::yes("row 3", "f8e4m3 read as it is");
  }

 private:
  std::unique_ptr<Plan> make_plan(const Problem&, const Support&) const override { return nullptr; }
  What what_;
};

class RegistryTest : public testing::Test {
 protected:
  Needs sm90_{{.name = "gpu-new", .compute_capability = 90, .shared_memory = 200000}};
  Needs sm80_{{.name = "gpu-old",
               .compute_capability = 80,
               .shared_memory = 90000,
               .drawback = "older generation"}};
  Needs wide_{{.name = "cpu-wide", .instruction_set = &CpuInfo::avx512}};
  Needs plain_{{.name = "cpu-plain"}};
  Registry registry_{{&sm90_, &sm80_, &wide_, &plain_}};

  Machine machine_{.cpu = {.name = "a processor", .threads = 4, .avx2 = true, .avx512 = true},
                   .gpus = {}};
  Problem problem_{.shape = {.q_heads = 8, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64}};

  void add_gpu(int compute_capability, std::int64_t shared_memory) {
    machine_.gpus.push_back({.name = "a GPU",
                             .compute_capability = compute_capability,
                             .shared_memory_per_block = shared_memory});
    problem_.device = {DeviceType::cuda, 0};
  }
  std::string chosen(std::string_view forced = {}) {
    return std::string(registry_.choose(problem_, machine_, forced).backend->name());
  }
  Error refusal(std::string_view forced) {
    try {
      registry_.choose(problem_, machine_, forced);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error for " << forced;
    return {ErrorCode::invalid_input, ""};
  }
};

TEST_F(RegistryTest, PicksByInstructionSet) {
  EXPECT_EQ(chosen(), "cpu-wide");
  machine_.cpu.avx512 = false;
  EXPECT_EQ(chosen(), "cpu-plain");
}

TEST_F(RegistryTest, PicksByGenerationAndSharedMemory) {
  add_gpu(90, 227 * 1024);
  EXPECT_EQ(chosen(), "gpu-new");
  machine_.gpus[0].shared_memory_per_block = 99 * 1024;
  EXPECT_EQ(chosen(), "gpu-old");
  machine_.gpus[0] = {
      .name = "a GPU", .compute_capability = 86, .shared_memory_per_block = 99 * 1024};
  EXPECT_EQ(chosen(), "gpu-old");
}

TEST_F(RegistryTest, EveryLoserHasItsReason) {
  add_gpu(90, 227 * 1024);
  const Choice choice = registry_.choose(problem_, machine_);
  EXPECT_EQ(log_line(choice, "0-31", Phase::decode),
            "attention: layers 0-31 decode -> gpu-new row 3, f8e4m3 read as it is | gpu-old: older "
            "generation"
            " | cpu-wide: tensors are on cuda:0 | cpu-plain: tensors are on cuda:0");
}

TEST_F(RegistryTest, ForcingWinsAndIsSaid) {
  const Choice choice = registry_.choose(problem_, machine_, "cpu-plain");
  EXPECT_EQ(choice.backend, &plain_);
  EXPECT_TRUE(choice.forced);
  EXPECT_NE(log_line(choice, "0", Phase::prefill).find("cpu-wide: cpu-plain is forced"),
            std::string::npos);
}

TEST_F(RegistryTest, AnImpossibleWishSaysWhyAndWhatWouldWork) {
  machine_.cpu.avx512 = false;
  const Error error = refusal("cpu-wide");
  EXPECT_EQ(error.code(), ErrorCode::not_possible);
  EXPECT_STREQ(
      error.what(),
      "backend cpu-wide cannot: the processor lacks its instructions; possible here: cpu-plain");
}

TEST_F(RegistryTest, AnUnknownNameListsTheNames) {
  const Error error = refusal("nonsense");
  EXPECT_EQ(error.code(), ErrorCode::unknown_name);
  EXPECT_STREQ(error.what(),
               "backend 'nonsense' is unknown; there are gpu-new, gpu-old, cpu-wide, cpu-plain");
}

TEST_F(RegistryTest, WhereNothingCanEveryReasonIsGiven) {
  add_gpu(75, 64 * 1024);
  const Error error = refusal("");
  EXPECT_EQ(error.code(), ErrorCode::not_possible);
  EXPECT_NE(std::string(error.what()).find("gpu-old: needs compute capability 80, a GPU has 75"),
            std::string::npos);
}

TEST(ForcedBackend, TheFlagGoesBeforeTheEnvironment) {
  ::setenv("HEADWISE_BACKEND", "from-the-environment", 1);
  EXPECT_EQ(forced_backend(), "from-the-environment");
  EXPECT_EQ(forced_backend("from-the-flag"), "from-the-flag");
  ::unsetenv("HEADWISE_BACKEND");
  EXPECT_EQ(forced_backend(), "");
}

}  // namespace
}  // namespace headwise
