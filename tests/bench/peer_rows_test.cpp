#include <gtest/gtest.h>

#include "cpu/reference.h"
#include "cpu/standard.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/fake_backends.h"
#include "tests/bench/fake_peer.h"

namespace headwise::bench {
namespace {

BenchReport run_with(const BenchOptions& options) {
  const FakeBackend backend("fake", FakeBackend::Fault::none);
  const Registry registry({&backend, &standard_backend(), &reference_backend()});
  return run_bench(options, registry, this_machine());
}

BenchReport run_beside(const std::vector<PeerCommand>& peers) {
  BenchOptions options = short_options();
  options.peers = peers;
  return run_with(options);
}

TEST(PeerRows, StandBesideOurs) {
  BenchOptions options = short_options();
  options.suites = {Suite::prefill, Suite::append, Suite::decode, Suite::mixed};
  options.peers = {fake_peer()};
  const BenchReport report = run_with(options);
  ASSERT_EQ(report.rows.size(), 13U);
  EXPECT_FALSE(report.wrong);
  int peers = 0;
  for (const Row& row : report.rows) {
    ASSERT_TRUE(row.ms) << row.note;
    ASSERT_TRUE(row.times_peer);
    if (!row.peer) continue;
    ++peers;
    EXPECT_EQ(row.backend, "fake-peer 1.0");
    EXPECT_EQ(row.kernel_row, "numpy");
    EXPECT_EQ(row.note, "a fake");
    EXPECT_NEAR(*row.ms, 1.0, 1e-9);
    EXPECT_NEAR(*row.times_peer, 1.0, 1e-9);
    EXPECT_FALSE(row.page);
    EXPECT_GT(*row.fraction, 0.0);
  }
  EXPECT_EQ(peers, 4);
  EXPECT_NEAR(*report.rows[0].times_peer, 1.0 / *report.rows[0].ms, 1e-9);
}

TEST(PeerRows, AWrongPeerIsFound) {
  for (const char* fault : {"wrong", "unwritten"}) {
    const BenchReport report = run_beside({fake_peer(fault)});
    EXPECT_TRUE(report.wrong);
    EXPECT_FALSE(report.rows.back().ms);
    EXPECT_NE(report.rows.back().note.find("wrong:"), std::string::npos) << report.rows.back().note;
    EXPECT_TRUE(report.rows.front().ms);
    EXPECT_FALSE(report.rows.front().times_peer);
  }
}

TEST(PeerRows, ALooserBoundIsSaid) {
  const BenchReport report = run_beside({fake_peer("loose")});
  EXPECT_FALSE(report.wrong);
  EXPECT_EQ(report.rows.back().note, "a fake; error 0.05, within 0.08");
  EXPECT_TRUE(report.rows.back().ms);
}

TEST(PeerRows, APeerThatFailsHasANoteAndNoTime) {
  for (const char* fault : {"refuse", "error", "crash", "crash in prepare", "crash in check",
                            "crash in measure", "garbage in prepare", "garbage in measure"}) {
    const BenchReport report = run_beside({fake_peer(fault), fake_peer()});
    ASSERT_EQ(report.rows.size(), 4U);
    EXPECT_FALSE(report.wrong);
    EXPECT_FALSE(report.rows[2].ms) << fault;
    EXPECT_FALSE(report.rows[2].note.empty()) << fault;
    EXPECT_TRUE(report.rows[3].ms) << fault;
  }
}

TEST(PeerRows, AHangingPeerDoesNotHoldUpTheRest) {
  BenchOptions options = short_options();
  options.suites = {Suite::decode, Suite::prefill};
  options.peers = {fake_peer("hang in measure")};
  options.peer_timeout_s = 6.0;
  const BenchReport report = run_with(options);
  ASSERT_EQ(report.rows.size(), 6U);
  EXPECT_NE(report.rows[2].note.find("no answer in 6 s"), std::string::npos) << report.rows[2].note;
  EXPECT_NE(report.rows[5].note.find("before"), std::string::npos) << report.rows[5].note;
  EXPECT_TRUE(report.rows[3].ms);
}

TEST(PeerRows, StepsThatNoPeerCanAreNotes) {
  BenchOptions options = short_options();
  options.shape = parse_shape_spec("q4:kv2:d16:f8p");
  options.peers = {fake_peer()};
  const BenchReport report = run_with(options);
  EXPECT_FALSE(report.rows.back().ms);
  EXPECT_NE(report.rows.back().note.find("FP8 products"), std::string::npos);
}

}  // namespace
}  // namespace headwise::bench
