#pragma once

#include <string>

#include "bench/peer.h"

namespace headwise::bench {

/// fake_peer.py, with a fault of its; `pid_file`, if any, is where it writes its process id.
inline PeerCommand fake_peer(const std::string& fault = "none", const std::string& pid_file = {}) {
  PeerCommand peer{"fake-peer 1.0", {HEADWISE_PYTHON, HEADWISE_FAKE_PEER, fault}};
  if (!pid_file.empty()) peer.command.push_back(pid_file);
  return peer;
}

}  // namespace headwise::bench
