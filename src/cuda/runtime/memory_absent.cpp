// Built where there is no nvcc, so that callers need no conditions: there is no memory to be had.
#include "cuda/runtime/memory.h"
#include "headwise/error.h"

namespace headwise::cuda {
namespace {

[[noreturn]] void refuse() { throw Error(ErrorCode::not_possible, "this build has no CUDA"); }

}  // namespace

DeviceBuffer::DeviceBuffer(int, std::int64_t) { refuse(); }
void DeviceBuffer::Free::operator()(void*) const {}
PinnedBuffer::PinnedBuffer(std::int64_t) { refuse(); }
void PinnedBuffer::Free::operator()(void*) const {}

void copy_to_device(void*, const void*, std::int64_t) { refuse(); }
void copy_to_host(void*, const void*, std::int64_t) { refuse(); }
void fill(void*, std::byte, std::int64_t) { refuse(); }
void synchronize(int) { refuse(); }
std::int64_t free_bytes(int) { refuse(); }

}  // namespace headwise::cuda
