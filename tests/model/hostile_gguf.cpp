#include <cmath>
#include <limits>

#include "tests/model/hf_writer.h"
#include "tests/model/hostile_files.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

struct HostileGguf {
  std::string what;
  std::string bytes;
  std::string message;
};

GgufWriter with_tensor(const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                       std::uint64_t offset = 0) {
  return GgufWriter().record("w", sizes, type, offset).data(std::string(256, '\0'));
}

std::string header(std::uint32_t version, std::uint64_t tensors, std::uint64_t keys) {
  return Bytes().raw("GGUF").number(version).number(tensors).number(keys).text();
}

Bytes array(std::uint32_t type, std::uint64_t count) { return Bytes().number(type).number(count); }

GgufWriter with_alignment(std::uint32_t alignment) {
  return with_tensor({4}, 0).u32("general.alignment", alignment);
}

std::vector<HostileGguf> hostile_headers() {
  GgufWriter two_keys;
  two_keys.u32("k", 1).u32("k", 2);
  GgufWriter claims_keys;
  claims_keys.u32("k", 1).claimed_keys = 1;
  return {
      {"other file", "PK\3\4 not a model", "is not a GGUF file: it does not begin with 'GGUF'"},
      {"shorter than its magic", "GGU", "is not a GGUF file: it does not begin with 'GGUF'"},
      {"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 98362432\n",
       "is a Git LFS pointer, not the model itself (git lfs pull fetches it)"},
      {"magic alone", "GGUF", "the header needs 4 bytes where 0 are left in the file"},
      {"no counts", header(3, 0, 0).substr(0, 12),
       "the header needs 8 bytes where 4 are left in the file"},
      {"version 1", header(1, 0, 0), "GGUF version 1 is not supported: 2 and 3 are"},
      {"version 4", header(4, 0, 0), "GGUF version 4 is not supported: 2 and 3 are"},
      {"big-endian", header(0x03000000, 0, 0), "is a big-endian GGUF file, which is not supported"},
      {"2^32 keys in 24 bytes", header(3, 0, 1ULL << 32),
       "the file claims 4294967296 keys in 0 bytes"},
      {"2^64 - 1 keys", header(3, 0, kHuge),
       "the file claims 18446744073709551615 keys in 0 bytes"},
      {"2^32 tensors in 24 bytes", header(3, 1ULL << 32, 0),
       "the file claims 4294967296 tensors in 0 bytes"},
      {"one key fewer than claimed", claims_keys.text().substr(0, 24 + 17) + std::string(20, '\0'),
       "a key has no name"},
      {"a key twice", two_keys.text(), "key 'k' appears twice"},
  };
}

std::vector<HostileGguf> hostile_keys() {
  const auto one_key = [](std::uint32_t type, const Bytes& value) {
    return GgufWriter().key("k", type, value).text();
  };
  const std::string key_name_too_long =
      header(3, 0, 1) + Bytes().number(kHuge).raw("name and more").text();
  return {
      {"key length past the end", key_name_too_long,
       "the name of a key needs 18446744073709551615 bytes where 13 are left in the file"},
      {"unknown type", one_key(13, Bytes().number(0)), "key 'k' has the unknown type 13"},
      {"string length past the end", one_key(8, Bytes().number(kHuge - 7)),
       "key 'k' needs 18446744073709551608 bytes where "},
      {"nested array", one_key(9, array(9, 1).raw(array(4, 0).text())),
       "key 'k' is an array of arrays, which is not supported"},
      {"array of an unknown type", one_key(9, array(99, 1)), "key 'k' has the unknown type 99"},
      {"array longer than the file", one_key(9, array(4, 1000)),
       "key 'k' claims 1000 values where "},
      {"array whose bytes wrap", one_key(9, array(12, (kHuge / 8) + 2)),
       "key 'k' claims 2305843009213693953 values where "},
      {"strings longer than the file", one_key(9, array(8, kHuge)),
       "key 'k' claims 18446744073709551615 values where "},
      {"a string of an array past the end", one_key(9, array(8, 1).number<std::uint64_t>(1000)),
       "key 'k' needs 1000 bytes where "},
      {"control characters in a name", GgufWriter().key("a\nb\x1b", 77, {}).text(),
       "key 'a?b?' has the unknown type 77"},
      {"a long name", GgufWriter().key(std::string(500, 'n'), 77, {}).text(),
       "key '" + std::string(64, 'n') + "...' has the unknown type 77"},
      {"alignment 0", with_alignment(0).text(), "key 'general.alignment' is 0, not a power of two"},
      {"alignment 24", with_alignment(24).text(),
       "key 'general.alignment' is 24, not a power of two"},
      {"alignment past the file", with_alignment(1U << 31).text(),
       "the padding before the tensor data needs "},
      {"alignment that is no number", with_tensor({4}, 0).string("general.alignment", "8").text(),
       "key 'general.alignment' is not an integer"},
  };
}

std::vector<HostileGguf> hostile_tensors() {
  const std::string nameless = GgufWriter().record("", {4}, 0, 0).data("0123456789abcdef").text();
  return {
      {"no name", nameless, "a tensor has no name"},
      {"no dimension", with_tensor({}, 0).text(), "tensor 'w' has 0 dimensions, not 1 to 4"},
      {"five dimensions", with_tensor({1, 1, 1, 1, 1}, 0).text(),
       "tensor 'w' has 5 dimensions, not 1 to 4"},
      {"a size of 0", with_tensor({4, 0}, 0).text(), "tensor 'w' has an impossible size 0"},
      {"a product that wraps to 0", with_tensor({1ULL << 32, 1ULL << 32}, 0).text(),
       "tensor 'w' has an impossible size 4294967296"},
      {"a size of 2^64 - 1", with_tensor({kHuge}, 0).text(),
       "tensor 'w' has an impossible size 18446744073709551615"},
      {"larger than the file", with_tensor({1ULL << 60}, 0).text(),
       "tensor 'w' needs 4611686018427387904 bytes at offset 0 where the file holds 256 bytes"},
      {"unknown type", with_tensor({4}, 4).text(), "tensor 'w' has the unknown type 4"},
      {"type out of range", with_tensor({4}, 1000000).text(),
       "tensor 'w' has the unknown type 1000000"},
      {"type that is not read", with_tensor({256}, 10).text(),
       "type Q2_K of tensor 'w' is not supported"},
      {"half a block", with_tensor({48, 2}, 3).text(),
       "tensor 'w' has rows of 48 weights, not whole blocks of 32 (Q4_1)"},
      {"offset off the alignment", with_tensor({4}, 0, 4).text(),
       "tensor 'w' has the offset 4, not a multiple of the alignment 32"},
      {"offset past the end", with_tensor({4}, 0, 1024).text(),
       "tensor 'w' needs 16 bytes at offset 1024 where the file holds 256 bytes of data"},
      {"offset that wraps", with_tensor({4}, 0, kHuge - 31).text(),
       "tensor 'w' needs 16 bytes at offset 18446744073709551584 where"},
      {"end past the end", with_tensor({64}, 0, 32).text(),
       "tensor 'w' needs 256 bytes at offset 32 where the file holds 256 bytes of data"},
      {"overlap", with_tensor({16}, 0).record("v", {4}, 0, 32).text(),
       "tensor 'v' overlaps tensor 'w'"},
      {"one place for two", with_tensor({4}, 0).record("v", {4}, 0, 0).text(),
       "tensor 'v' overlaps tensor 'w'"},
      {"a name twice", with_tensor({4}, 0).record("w", {4}, 0, 32).text(),
       "tensor 'w' appears twice"},
  };
}

/// Whole but for the configuration.
std::vector<HostileGguf> hostile_configurations() {
  const auto with_count = [](const char* key, std::uint32_t value) {
    GgufWriter writer = tiny_llama_without(key);
    return writer.u32(key, value).text();
  };
  return {
      {"no key", GgufWriter().text(), "key 'general.architecture' is missing"},
      {"no tensor", GgufWriter().string("general.architecture", "llama").text(),
       "key 'llama.block_count' is missing"},
      {"2^31 layers", with_count("llama.block_count", 1U << 31),
       "key 'llama.block_count' is out of range: 2147483648"},
      {"16384 layers, and none of them", with_count("llama.block_count", 1U << 14),
       "tensor 'output_norm.weight' is missing"},
      {"heads of 2^18 dimensions", with_count("llama.embedding_length", 1U << 20),
       "the head dimension 262144 is out of range"},
      {"a head dimension of 2^32 - 2",
       tiny_llama().u32("llama.attention.key_length", 0xfffffffe).text(),
       "key 'llama.attention.key_length' is out of range: 4294967294"},
      {"2^31 heads", with_count("llama.attention.head_count", 1U << 31),
       "key 'llama.attention.head_count' is out of range: 2147483648"},
      {"a rotary base that is no number", tiny_llama().f32("llama.rope.freq_base", NAN).text(),
       "key 'llama.rope.freq_base' is out of range: nan"},
      {"more tokens than rows", tiny_llama().u32("llama.vocab_size", 1U << 31).text(),
       "key 'llama.vocab_size' is out of range: 2147483648"},
      {"a missing tensor", tiny_llama().text(), "tensor 'output_norm.weight' is missing"},
      {"a tensor of other sizes",
       tiny_llama().tensor("output_norm.weight", {4}, 0, std::string(16, '\0')).text(),
       "tensor 'output_norm.weight' is 4, not 8"},
  };
}

}  // namespace

std::vector<HostileFile> hostile_gguf_files() {
  std::vector<HostileFile> files;
  for (const auto& list :
       {hostile_headers(), hostile_keys(), hostile_tensors(), hostile_configurations()}) {
    for (const auto& [what, bytes, message] : list) {
      files.push_back({"GGUF: " + what, "model.gguf", "/model.gguf: " + message,
                       [bytes = bytes](const std::filesystem::path& folder) {
                         std::ofstream(folder / "model.gguf", std::ios::binary) << bytes;
                       }});
    }
  }
  return files;
}

}  // namespace headwise
