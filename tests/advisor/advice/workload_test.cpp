#include "advisor/advice/workload.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "headwise/error.h"
#include "tests/advisor/device/written_file.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

Json example() {
  return {{"name", "own"}, {"shared_prefix", 1000}, {"input", 100},   {"output", 50},
          {"turns", 4},    {"concurrency", 8},      {"ttft_ms", 500}, {"tpot_ms", 20.5},
          {"reuse", 0.5},  {"note", "for a test"}};
}

Workload read(const Json& json) {
  const WrittenFile file("own.json", json.dump());
  return read_workload(file.path());
}

std::string error_of(const std::string& text) {
  const WrittenFile file("own.json", text);
  try {
    read_workload(file.path());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Workloads, AreRead) {
  const Workload own = read(example());
  EXPECT_EQ(own.name, "own");
  EXPECT_EQ(own.shared_prefix, 1000);
  EXPECT_EQ(own.turns, 4);
  EXPECT_EQ(own.concurrency, 8);
  EXPECT_EQ(own.tpot_target_ms, 20.5);
  // turn 4: 1000 + 3 (100 + 50) before it, half of which is cached
  EXPECT_EQ(own.prompt(4), 1550);
  EXPECT_EQ(own.cached(4), 725);
  EXPECT_EQ(own.longest(), 1600);
  EXPECT_EQ(own.cached(1), 500);
}

TEST(Workloads, LeaveOutWhatNeedNotBeThere) {
  const Workload least = read({{"name", "own"}, {"input", 100}, {"output", 50}});
  EXPECT_EQ(least.shared_prefix, 0);
  EXPECT_EQ(least.turns, 1);
  EXPECT_EQ(least.concurrency, 1);
  EXPECT_EQ(least.reuse, 1.0);
  EXPECT_FALSE(least.ttft_target_ms || least.tpot_target_ms);
  EXPECT_EQ(least.cached(1), 0);
}

TEST(Workloads, ComeWithHeadwise) {
  for (const char* name : {"chat", "coding-agent"}) {
    const Workload workload = read_workload(name);
    EXPECT_EQ(workload.name, name);
    EXPECT_NE(workload.note.find("not a measurement"), std::string::npos);
  }
  const Workload agent = read_workload("coding-agent");
  EXPECT_GT(agent.cached(agent.turns), 50 * agent.input);
  try {
    read_workload("chats");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unknown_name);
    EXPECT_NE(std::string(error.what()).find("chat, coding-agent"), std::string::npos);
  }
}

TEST(Workloads, MistakesNameTheField) {
  const auto with = [](const char* field, const Json& value) {
    Json json = example();
    json[field] = value;
    return error_of(json.dump());
  };
  const auto without = [](const char* field) {
    Json json = example();
    json.erase(field);
    return error_of(json.dump());
  };
  const std::pair<std::string, const char*> mistakes[] = {
      {without("name"), "name"},
      {without("input"), "input"},
      {without("output"), "output"},
      {with("input", 0), "input"},
      {with("input", -1), "input"},
      {with("input", 1.5), "input"},
      {with("input", "many"), "input"},
      {with("input", 18446744073709551615ULL), "input"},
      {with("output", 1LL << 31), "output"},
      {with("shared_prefix", -1), "shared_prefix"},
      {with("turns", 0), "turns"},
      {with("turns", 100001), "turns"},
      {with("concurrency", 0), "concurrency"},
      {with("concurrency", Json::array({1})), "concurrency"},
      {with("reuse", 1.01), "reuse"},
      {with("reuse", -0.1), "reuse"},
      {with("ttft_ms", 0), "ttft_ms"},
      {with("ttft_ms", -5), "ttft_ms"},
      {with("tpot_ms", "fast"), "tpot_ms"},
      {with("tpot_ms", 1e300), "tpot_ms"},
      {with("unheard_of", 1), "unheard_of"},
      {error_of("[]"), "JSON object"},
      {error_of("{"), "own.json"},
      {error_of(""), "own.json"},
      {error_of(R"({"name": "a", "name": "b"})"), "name"},
      {error_of(std::string(1 << 17, ' ')), "longer"}};
  for (const auto& [error, field] : mistakes) {
    EXPECT_NE(error.find(field), std::string::npos) << field << ": " << error;
    EXPECT_NE(error.find("own.json"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  Json endless = example();
  endless["turns"] = 100000;
  endless["input"] = 1 << 29;
  EXPECT_NE(error_of(endless.dump()).find("turns"), std::string::npos);
}

}  // namespace
}  // namespace headwise
