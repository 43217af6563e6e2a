// NVIDIA's driver as core/gpus.cpp sees it, with the GPUs that FAKE_DRIVER names: "two", "none", or
// "broken", whose second GPU fails.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace {

std::string_view mode() {
  const char* text = std::getenv("FAKE_DRIVER");
  return text == nullptr ? "two" : text;
}

constexpr int kNoDevice = 100;
constexpr int kUnknown = 999;

}  // namespace

extern "C" {

int cuInit(unsigned) { return mode() == "none" ? kNoDevice : 0; }
int cuDeviceGetCount(int* count) { return *count = 2, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal + 10, 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{141} << 30, 0; }

int cuDeviceGetName(char* name, int length, int device) {
  std::strncpy(name, device == 10 ? "NVIDIA H200" : "NVIDIA RTX A6000",
               static_cast<std::size_t>(length));
  return mode() == "broken" && device == 11 ? kUnknown : 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  static const std::map<int, int> h200 = {{13, 1'980'000}, {16, 132},        {36, 3'201'000},
                                          {37, 6144},      {38, 62'914'560}, {75, 9},
                                          {76, 0},         {97, 232'448}};
  *value = h200.at(attribute);
  if (device == 11 && attribute == 75) *value = 8;
  if (device == 11 && attribute == 76) *value = 6;
  if (device == 11 && attribute == 97) *value = 101'376;
  return 0;
}

int cuGetErrorString(int error, const char** text) {
  *text = error == kNoDevice ? "no CUDA-capable device is detected" : nullptr;
  return 0;
}

}  // extern "C"
