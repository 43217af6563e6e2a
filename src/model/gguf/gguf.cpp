#include "model/gguf/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf/gguf_value.h"

namespace headwise {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kLargestAlignment = std::uint64_t{1} << 31;
// A key: length, one letter, type, one byte. A tensor: the same, dimensions, one size, offset.
constexpr std::size_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr std::size_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

struct TensorType {
  std::uint32_t id;
  const char* name;
  std::optional<BlockFormat> format;  // absent: known, but there is no dequantisation
};

constexpr std::array<TensorType, 32> kTensorTypes{{
    {0, "F32", BlockFormat::f32},
    {1, "F16", BlockFormat::f16},
    {2, "Q4_0", BlockFormat::q4_0},
    {3, "Q4_1", BlockFormat::q4_1},
    {6, "Q5_0", BlockFormat::q5_0},
    {7, "Q5_1", BlockFormat::q5_1},
    {8, "Q8_0", BlockFormat::q8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", {}},
    {11, "Q3_K", {}},
    {12, "Q4_K", BlockFormat::q4_k},
    {13, "Q5_K", BlockFormat::q5_k},
    {14, "Q6_K", BlockFormat::q6_k},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", {}},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", {}},
    {24, "I8", {}},
    {25, "I16", {}},
    {26, "I32", {}},
    {27, "I64", {}},
    {28, "F64", {}},
    {29, "IQ1_M", {}},
    {30, "BF16", BlockFormat::bf16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", {}},
}};

BlockFormat format_of(std::uint32_t id, const std::string& what) {
  const auto* type = std::ranges::find(kTensorTypes, id, &TensorType::id);
  check(type != kTensorTypes.end(), what, " has the unknown type ", id);
  check(type->format.has_value(), "type ", type->name, " of ", what, " is not supported");
  return *type->format;
}

/// A tensor whose place in the data is not known to exist yet.
struct TensorRecord {
  WeightTensor tensor;
  std::uint64_t offset = 0;  // from the start of the data
  std::uint64_t bytes = 0;
};

TensorRecord read_tensor_record(ByteReader& reader) {
  TensorRecord record;
  WeightTensor& tensor = record.tensor;
  tensor.name = reader.string("the name of a tensor");
  const std::string what = label(tensor);
  check(!tensor.name.empty(), "a tensor has no name");
  const auto dimensions = reader.number<std::uint32_t>(what);
  check(dimensions >= 1 && dimensions <= 4, what, " has ", dimensions, " dimensions, not 1 to 4");
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = reader.number<std::uint64_t>(what);
    check(size != 0 && size <= kMostElements / elements, what, " has an impossible size ", size);
    elements *= size;
    tensor.sizes.push_back(size);
  }
  tensor.format = format_of(reader.number<std::uint32_t>(what), what);
  const std::size_t block = block_elements(tensor.format);
  check(tensor.columns() % block == 0, what, " has rows of ", tensor.columns(),
        " weights, not whole blocks of ", block, " (", name(tensor.format), ")");
  record.offset = reader.number<std::uint64_t>(what);
  record.bytes = elements / block * block_bytes(tensor.format);
  return record;
}

std::uint64_t read_alignment(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  if (!metadata.has(kKey)) return kDefaultAlignment;
  const std::uint64_t alignment = metadata.unsigned_integer(kKey);
  check(std::has_single_bit(alignment) && alignment <= kLargestAlignment, "key ", quoted_name(kKey),
        " is ", alignment, ", not a power of two up to ", kLargestAlignment);
  return alignment;
}

void check_places(const std::vector<TensorRecord>& records, std::uint64_t alignment,
                  std::uint64_t data_bytes) {
  std::vector<const TensorRecord*> order;
  for (const TensorRecord& record : records) {
    const std::string what = label(record.tensor);
    check(record.offset % alignment == 0, what, " has the offset ", record.offset,
          ", not a multiple of the alignment ", alignment);
    check(record.offset <= data_bytes && record.bytes <= data_bytes - record.offset, what,
          " needs ", record.bytes, " bytes at offset ", record.offset, " where the file holds ",
          data_bytes, " bytes of data");
    order.push_back(&record);
  }
  std::ranges::stable_sort(order, {}, &TensorRecord::offset);
  for (std::size_t i = 1; i < order.size(); ++i) {
    check(order[i - 1]->offset + order[i - 1]->bytes <= order[i]->offset, label(order[i]->tensor),
          " overlaps ", label(order[i - 1]->tensor));
  }
}

void check_header(ByteReader& reader, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check(!text.starts_with("version https://git-lfs"),
        "is a Git LFS pointer, not the model itself (git lfs pull fetches it)");
  check(text.starts_with("GGUF"), "is not a GGUF file: it does not begin with 'GGUF'");
  reader.take(4, "the header");
  const auto version = reader.number<std::uint32_t>("the header");
  check((version & 0xffffU) != 0, "is a big-endian GGUF file, which is not supported");
  check(version == 2 || version == 3, "GGUF version ", version, " is not supported: 2 and 3 are");
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path) : path_(path), file_(path) {
  with_name(path_.string(), [&] { read(file_->bytes()); });
}

GgufFile::GgufFile(std::span<const std::byte> bytes, std::filesystem::path path)
    : path_(std::move(path)) {
  with_name(path_.string(), [&] { read(bytes); });
}

void GgufFile::read(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  check_header(reader, bytes);
  const auto tensor_count = reader.number<std::uint64_t>("the header");
  const auto key_count = reader.number<std::uint64_t>("the header");
  check(key_count <= reader.remaining() / kLeastKeyBytes, "the file claims ", key_count,
        " keys in ", reader.remaining(), " bytes");
  read_metadata(reader, key_count);
  check(tensor_count <= reader.remaining() / kLeastTensorBytes, "the file claims ", tensor_count,
        " tensors in ", reader.remaining(), " bytes");
  read_tensors(reader, tensor_count);
}

void GgufFile::read_metadata(ByteReader& reader, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = reader.string("the name of a key");
    check(!key.empty(), "a key has no name");
    const bool added = metadata_.values_.emplace(key, read_gguf_value(reader, key)).second;
    check(added, "key ", quoted_name(key), " appears twice");
  }
}

void GgufFile::read_tensors(ByteReader& reader, std::uint64_t count) {
  std::vector<TensorRecord> records;
  for (std::uint64_t i = 0; i < count; ++i) records.push_back(read_tensor_record(reader));
  const std::uint64_t alignment = read_alignment(metadata_);
  if (records.empty()) return;
  const std::uint64_t padding = (alignment - reader.position() % alignment) % alignment;
  reader.take(padding, "the padding before the tensor data");
  const auto data = reader.take(reader.remaining(), "the tensor data");
  check_places(records, alignment, data.size());
  for (TensorRecord& record : records) {
    record.tensor.data = data.subspan(record.offset, record.bytes);
    table_.add(std::move(record.tensor));
  }
}

const WeightTensor& GgufFile::tensor(std::string_view name) const {
  return with_name(
      path_.string(), [&]() -> auto& { return table_.at(name); });
}

const WeightTensor& GgufFile::tensor(std::string_view name,
                                     const std::vector<std::uint64_t>& sizes) const {
  return with_name(
      path_.string(), [&]() -> auto& { return table_.at(name, sizes); });
}

}  // namespace headwise
