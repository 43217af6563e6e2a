#include "bench/gpu_peers.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "bench/goals.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

namespace fs = std::filesystem;

/// As rows print them, and as peer.py knows them.
constexpr std::array<std::string_view, 7> kPeers{kFlash2, "pytorch-cudnn", "fa3",       kVllmFlash3,
                                                 "fa4",   "flashinfer",    "jax-mosaic"};

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::not_possible, why); }

fs::path find_python() {
  const char* wish = std::getenv("HEADWISE_GPU_PYTHON");
  if (wish != nullptr && *wish != '\0') return wish;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (!folder.empty() && access(python.c_str(), X_OK) == 0) return python;
  }
  fail("peers on GPUs are run by Python, and there is no python3 on PATH");
}

std::optional<fs::path> find_script(fs::path folder) {
  for (;; folder = folder.parent_path()) {
    std::error_code none;
    const fs::path script = folder / "bench" / "peers" / "peer.py";
    if (fs::exists(script, none)) return script;
    if (folder == folder.parent_path()) return {};
  }
}

}  // namespace

fs::path program_folder() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).parent_path();
}

std::vector<PeerCommand> gpu_peers(const fs::path& start) {
  const std::optional<fs::path> script = find_script(start);
  if (!script)
    fail(concat("the peers' programs, bench/peers, are neither in ", start.string(),
                " nor in a folder above it"));
  const fs::path python = find_python();
  std::vector<PeerCommand> peers;
  for (const std::string_view name : kPeers)
    peers.push_back({std::string(name), {python.string(), script->string(), std::string(name)}});
  return peers;
}

}  // namespace headwise::bench
