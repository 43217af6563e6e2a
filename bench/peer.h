#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/peer_process.h"
#include "bench/shared_tensors.h"
#include "bench/timing.h"
#include "headwise/device.h"

namespace headwise::bench {

/// Another library, and how to start it.
struct PeerCommand {
  std::string name;                  ///< with its version: "openvino 2026.4.1"
  std::vector<std::string> command;  ///< a path, then arguments
};

/// What bench/peers/setup.sh made: ${XDG_CACHE_HOME:-~/.cache}/headwise/peers.
std::filesystem::path peers_folder();
/// The peers that `folder`/peers.json names. Throws Error(not_possible) that names the set-up
/// script where there is none, or it names none.
std::vector<PeerCommand> find_peers(const std::filesystem::path& folder);

struct PeerOptions {
  int threads = 1;
  double timeout_s = 300.0;  ///< of one answer
  Device device{};           ///< where it is to run
  std::function<bool()> stop = [] { return false; };
};

/// How a peer is to run a step.
struct PeerRun {
  int copies = 1;  ///< of the tensors, to be run in rotation
  Protocol protocol = Protocol::sustained;
};

/// What a peer says of a step that it has taken.
struct PeerSetting {
  std::string version;               ///< of the library, where the peer's name does not have it
  std::string setting;               ///< the row that it runs, in its words
  std::string note;                  ///< what it computes otherwise than the step says
  std::optional<double> bound;       ///< of its error where it is looser than the definition's
  std::optional<std::int64_t> page;  ///< tokens, where K and V lie in pages
};

/// A library in a process of its own. Any call throws Error(not_possible) with one clause: the
/// peer refuses, or failed. One that failed is started anew for the next step, unless it gave no
/// answer in time.
class Peer {
 public:
  Peer(PeerCommand command, PeerOptions options);
  ~Peer();
  Peer(Peer&&) = default;
  Peer& operator=(Peer&&) = default;

  const std::string& name() const { return command_.name; }

  /// Lays out the tensors its own way. They may go afterwards, but for the outputs.
  PeerSetting prepare(const SharedTensors& tensors, const PeerRun& run);
  /// Runs what will be timed, over the first copy, and writes the outputs.
  void check();
  Samples measure(const Turn& turn);
  /// Forgets the step, and a failure with it. Does not throw.
  void drop() noexcept;

 private:
  nlohmann::json ask(const nlohmann::json& request, double extra_s = 0.0);

  PeerCommand command_;
  PeerOptions options_;
  std::unique_ptr<PeerProcess> process_;  // null: not started, or failed
  bool hung_ = false;
};

}  // namespace headwise::bench
