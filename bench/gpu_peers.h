#pragma once

#include <filesystem>
#include <vector>

#include "bench/peer.h"

namespace headwise::bench {

/// Other libraries for GPUs, run by one Python: HEADWISE_GPU_PYTHON, or the first python3 on PATH.
/// A library that is not there shows when its process starts, or, where HEADWISE_FA3,
/// HEADWISE_VLLM_FA3 or HEADWISE_FA4 is to name it, at its first step: its rows have a note.
/// `start` is where the folder bench/peers is looked for, and in all folders above it. Throws
/// Error(not_possible) where there is no Python, or no such folder.
std::vector<PeerCommand> gpu_peers(const std::filesystem::path& start);

/// The folder of this program.
std::filesystem::path program_folder();

}  // namespace headwise::bench
