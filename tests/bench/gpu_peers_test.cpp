#include "bench/gpu_peers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "headwise/error.h"

namespace headwise::bench {
namespace {

const std::filesystem::path kHere = std::filesystem::path(HEADWISE_FAKE_PEER).parent_path();

TEST(GpuPeers, AreRunByTheProgramAboveThatKnowsTheirNames) {
  const std::vector<PeerCommand> peers = gpu_peers(kHere);
  ASSERT_FALSE(peers.empty());
  std::ifstream file(peers.front().command[1]);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  for (const PeerCommand& peer : peers) {
    ASSERT_EQ(peer.command.size(), 3U);
    EXPECT_EQ(peer.command[1], kHere.parent_path().parent_path() / "bench/peers/peer.py");
    EXPECT_EQ(peer.command[2], peer.name);
    EXPECT_NE(program.find('"' + peer.name + '"'), std::string::npos) << peer.name;
  }
}

TEST(GpuPeers, WithoutTheirProgramsThereAreNone) {
  try {
    gpu_peers("/");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

}  // namespace
}  // namespace headwise::bench
