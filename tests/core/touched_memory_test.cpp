#include "core/touched_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>

namespace headwise {
namespace {

constexpr std::size_t kPage = 4096;

/// Memory of its own, without huge pages, or of a file.
class Mapping {
 public:
  Mapping(std::size_t size, int protection, int flags, int file)
      : size_(size), address_(mmap(nullptr, size, protection, flags, file, 0)) {
    EXPECT_NE(address_, MAP_FAILED);
    madvise(address_, size, MADV_NOHUGEPAGE);
  }
  ~Mapping() { munmap(address_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), size_}; }

 private:
  std::size_t size_;
  void* address_;
};

/// Page faults of the process while it reads a byte of each page.
long faults_of_reading(std::span<const std::byte> bytes) {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  for (std::size_t at = 0; at < bytes.size(); at += kPage)
    [[maybe_unused]] const std::byte read = const_cast<const volatile std::byte&>(bytes[at]);
  return faults() - before;
}

TEST(TouchedMemory, HasItsPages) {
  constexpr std::size_t kPages = 1500;  // some pieces and a part of one
  const Mapping untouched(kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  EXPECT_GE(faults_of_reading(untouched.bytes()), 1500);
  const Mapping touched(kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  // From the middle of a page to that of another, in two parts, one of them empty.
  const std::span<std::byte> part = touched.bytes().subspan(kPage / 2, (kPages - 1) * kPage);
  touch_for_writing({part.first(0), part});
  EXPECT_LE(faults_of_reading(touched.bytes()), 10);
}

TEST(TouchedMemory, IsReadFromFiles) {
  constexpr std::size_t kPages = 1500;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const std::vector<char> content(kPages * kPage, 'x');
  ASSERT_EQ(std::fwrite(content.data(), 1, content.size(), file.get()), content.size());
  ASSERT_EQ(std::fflush(file.get()), 0);
  const Mapping mapped(content.size(), PROT_READ, MAP_PRIVATE, fileno(file.get()));
  touch_for_reading(mapped.bytes());
  EXPECT_LE(faults_of_reading(mapped.bytes()), 10);
  EXPECT_EQ(mapped.bytes()[kPage], std::byte{'x'});
}

TEST(TouchedMemory, MayBeNone) {
  touch_for_writing({});
  touch_for_reading({});
}

}  // namespace
}  // namespace headwise
