#include "tests/model/hostile_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "model/model_file.h"
#include "tests/model/hf_writer.h"

namespace headwise {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitised = true;  // whose own memory and time would be measured
#else
constexpr bool kSanitised = false;
#endif

constexpr rlim_t kMoreMemory = rlim_t{64} << 20;
constexpr double kSeconds = 0.1;  // of processor time: the machine may be busy

/// The address space that the process has, in bytes.
rlim_t address_space() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file != nullptr && std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

std::string open_and_say(const std::filesystem::path& path) {
  if (!kSanitised) {
    const rlim_t most = address_space() + kMoreMemory;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return "no limit could be set";
  }
  const std::clock_t start = std::clock();
  std::string said = "was opened";
  try {
    ModelFile{path};
  } catch (const Error& error) {
    said = error.what();
  } catch (const std::exception& error) {
    said = concat("another exception: ", error.what());
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!kSanitised && seconds > kSeconds) said = concat("took ", seconds, " s: ", said);
  return said;
}

/// What a process of its own says, with little memory and time to itself.
std::string said_apart(const std::filesystem::path& path) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // for what waits rather than computes
    const std::string said = open_and_say(path);
    const auto written = write(ends[1], said.data(), said.size());
    _exit(written == std::ssize(said) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? said : concat("the process ended with status ", status, " ", said);
}

TEST(HostileFiles, AreRefusedInOneLineQuicklyAndInLittleMemory) {
  const std::vector<HostileFile> files = all_hostile_files();
  EXPECT_GE(files.size(), 48U);
  std::printf("%zu hostile files\n", files.size());
  for (const HostileFile& file : files) {
    const TemporaryFolder folder;
    file.write(folder.path());
    const auto opened = file.opened.empty() ? folder.path() : folder.path() / file.opened;
    const std::string said = said_apart(opened);
    EXPECT_TRUE(said.starts_with(folder.path().string() + file.message))
        << file.what << ": " << said << "\n  not: " << file.message;
    EXPECT_EQ(said.find('\n'), std::string::npos) << file.what;
    EXPECT_LE(said.size(), 400U) << file.what;
  }
}

TEST(HostileFiles, AGoodModelIsOpenedUnderTheSameLimits) {
  TemporaryFolder folder;
  folder.file("config.json", tiny_hf_config().dump())
      .file("model.safetensors", tiny_hf_weights().text());
  EXPECT_EQ(said_apart(folder.path()), "was opened");
}

}  // namespace
}  // namespace headwise
