// Stands between a program and libgomp and tells the thread sanitizer in which order libgomp makes
// things happen. To be preloaded; does nothing in a program without the sanitizer.

#include <dlfcn.h>

extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
}

namespace {

// What one thread did before a release of an address happened before what another does after a
// later acquire of it. fork and join are two, so that threads of one region are not ordered.
char fork, join, barrier, critical;

void acquire(char& address) {
  if (__tsan_acquire != nullptr) __tsan_acquire(&address);
}
void release(char& address) {
  if (__tsan_release != nullptr) __tsan_release(&address);
}

template <class Function>
Function* libgomp(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Region {
  void (*body)(void*);
  void* data;
};

void run_region(void* argument) {
  const Region& region = *static_cast<Region*>(argument);
  acquire(fork);
  region.body(region.data);
  release(join);
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  Region region{body, data};
  release(fork);
  libgomp<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel")(run_region, &region,
                                                                             threads, flags);
  acquire(join);
}

void GOMP_barrier() {
  release(barrier);
  libgomp<void()>("GOMP_barrier")();
  acquire(barrier);
}

void GOMP_loop_end() {
  release(barrier);
  libgomp<void()>("GOMP_loop_end")();
  acquire(barrier);
}

void GOMP_critical_start() {
  libgomp<void()>("GOMP_critical_start")();
  acquire(critical);
}

void GOMP_critical_end() {
  release(critical);
  libgomp<void()>("GOMP_critical_end")();
}

}  // extern "C"
