#include "bench/peer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "attention/output_bound.h"
#include "attention/shape_spec.h"
#include "bench/check.h"
#include "cpu/reference.h"
#include "headwise/error.h"
#include "tests/bench/fake_peer.h"

namespace headwise::bench {
namespace {

/// What `call` throws as not possible.
std::string reason_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A step that peers are handed, and what is exact of it.
struct Step {
  explicit Step(const char* text)
      : shape(parse_shape_spec(text).shape),
        tensors(shape, workload, 16, 1, 3),
        shared(shape, workload, tensors),
        exact(shape, workload, tensors, 0, sample_rows(shape, workload, 1e9, 3),
              reference_backend(), 1) {}

  std::string fault() const {
    return exact.judge({.data = shared.out(), .type = DType::f32, .bound = output_bound(shape)})
        .fault;
  }

  Workload workload{
      .suite = Suite::mixed, .lens = "test", .q_lens = {9, 1, 3}, .kv_lens = {9, 70, 40}};
  AttentionShape shape;
  StepTensors tensors;
  SharedTensors shared;
  ExactRows exact;
};

/// What a peer with this fault makes of a small step; the first reason that it throws.
std::string reason(const std::string& fault, const PeerOptions& options = {.timeout_s = 20.0}) {
  Step step("q4:kv2:d16:f32");
  Peer peer(fake_peer(fault), options);
  return reason_of([&] {
    peer.prepare(step.shared, {});
    peer.check();
    peer.measure({.untimed = 0, .seconds = 0.0});
  });
}

TEST(PeerTest, IsHandedTheStepThatReferenceComputes) {
  for (const char* text : {"q4:kv2:d16:f32", "q4:kv2:d16", "q4:kv1:d16:f16:full", "q4:kv2:d16:v8",
                           "q4:kv2:d16:f8", "q4:kv2:d16:i8"}) {
    Step step(text);
    Peer peer(fake_peer(), {.timeout_s = 20.0});
    const PeerSetting setting = peer.prepare(step.shared, {.copies = 2});
    EXPECT_EQ(setting.setting, "numpy");
    EXPECT_EQ(setting.note, "a fake");
    EXPECT_FALSE(setting.bound);
    step.shared.poison();
    EXPECT_TRUE(has(step.fault(), "NaN")) << text;
    peer.check();
    EXPECT_EQ(step.fault(), "") << text;
    EXPECT_EQ(peer.measure({.untimed = 1, .seconds = 0.01}).size(), 10U);
  }
}

TEST(PeerTest, StepsThatNoPeerCanAreRefused) {
  EXPECT_TRUE(has(reason_of([] { Step("q4:kv2:d16:f8p"); }), "FP8 products"));
  EXPECT_TRUE(has(reason_of([] { Step("q4:kv1:d24:v16:mla"); }), "MLA"));
}

TEST(PeerTest, SaysWhyThereIsNoAnswer) {
  EXPECT_EQ(reason("refuse"), "it was told to refuse");
  EXPECT_EQ(reason("error"), "failed: ValueError: out of luck");
  EXPECT_EQ(reason("crash in check"), "it ended with exit status 3: ImportError: no such luck");
  EXPECT_EQ(reason("kill in measure"), "it was ended by signal 9: ImportError: no such luck");
  EXPECT_EQ(reason("garbage in check"), "it answered no JSON: Loading model...");
  EXPECT_EQ(reason("no times"), "it answered no times");
  EXPECT_TRUE(has(reason("blind"), "0.9"));
}

TEST(PeerTest, WhatCannotBeStartedSaysSo) {
  Step step("q4:kv2:d16:f32");
  Peer peer({"none", {"/nonexistent/python"}}, {.timeout_s = 20.0});
  EXPECT_TRUE(has(reason_of([&] { peer.prepare(step.shared, {}); }), "could not be started"));
}

TEST(PeerTest, AHangingOneIsGivenUp) {
  Step step("q4:kv2:d16:f32");
  Peer peer(fake_peer("hang in check"), {.timeout_s = 6.0});
  peer.prepare(step.shared, {});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(reason_of([&] { peer.check(); }), "no answer in 6 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_TRUE(has(reason_of([&] { peer.prepare(step.shared, {}); }), "before"));
}

TEST(PeerTest, StopsWaitingWhenItIsToldTo) {
  const auto start = std::chrono::steady_clock::now();
  const auto soon = [start] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300);
  };
  EXPECT_EQ(reason("hang in prepare", {.timeout_s = 600.0, .stop = soon}), "interrupted");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(PeerTest, ACrashedOneIsStartedAnew) {
  Step step("q4:kv2:d16:f32");
  Peer peer(fake_peer("crash in check"), {.timeout_s = 20.0});
  for (int i = 0; i < 2; ++i) {
    peer.prepare(step.shared, {});
    EXPECT_TRUE(has(reason_of([&] { peer.check(); }), "exit status 3"));
    peer.drop();
  }
}

TEST(PeerTest, LeavesNoProcessBehind) {
  const std::string pid_file = testing::TempDir() + "headwise_peer_pid";
  {
    Step step("q4:kv2:d16:f32");
    Peer peer(fake_peer("none", pid_file), {.timeout_s = 20.0});
    peer.prepare(step.shared, {});
  }
  pid_t pid = 0;
  std::ifstream(pid_file) >> pid;
  std::remove(pid_file.c_str());
  ASSERT_GT(pid, 0);
  EXPECT_NE(kill(pid, 0), 0);
}

/// A folder with a peers.json, gone at the end of the test.
struct Folder {
  explicit Folder(const std::string& text) : path(testing::TempDir() + "headwise_peers") {
    std::filesystem::create_directories(path);
    std::ofstream(path / "peers.json") << text;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(FindPeers, ReadsTheManifest) {
  const Folder folder(R"({"peers": [{"name": "a 1", "command": ["/x", "y"]}]})");
  const auto peers = find_peers(folder.path);
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].name, "a 1");
  EXPECT_EQ(peers[0].command, (std::vector<std::string>{"/x", "y"}));
}

TEST(FindPeers, NamesTheSetUpScript) {
  EXPECT_TRUE(has(reason_of([] { find_peers("/nonexistent"); }), "bench/peers/setup.sh"));
  for (const char* text : {"", "[]", "{}", R"({"peers": []})", R"({"peers": [{"name": 1}]})",
                           R"({"peers": [{"name": "a", "command": []}]})"}) {
    const Folder folder(text);
    EXPECT_TRUE(has(reason_of([&] { find_peers(folder.path); }), "bench/peers/setup.sh")) << text;
  }
}

}  // namespace
}  // namespace headwise::bench
