#include "model/hugging_face/safetensors.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"

namespace headwise {
namespace {

constexpr JsonLimits kHeaderLimits{.bytes = std::size_t{8} << 20, .depth = 4};
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;

struct Place {
  std::uint64_t begin = 0;  // in the data
  std::uint64_t end = 0;
  WeightTensor tensor;  // its name is one of the header's
};

BlockFormat format_of(const std::string& dtype) {
  for (const BlockFormat format : {BlockFormat::f32, BlockFormat::f16, BlockFormat::bf16}) {
    if (dtype == name(format)) return format;
  }
  throw Error(ErrorCode::invalid_input,
              concat("type ", quoted_name(dtype), " is not supported: F32, F16 and BF16 are"));
}

std::vector<std::uint64_t> unsigned_integers(const nlohmann::json& array, std::size_t least,
                                             std::size_t most, const std::string& what) {
  check(array.is_array() && array.size() >= least && array.size() <= most, what, " does not hold ",
        least == most ? "" : concat(least, " to "), most, " numbers");
  std::vector<std::uint64_t> numbers;
  for (const nlohmann::json& number : array) {
    check(number.is_number_unsigned(), what, " holds something other than integers from 0");
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

Place read_place(const std::string& name, const nlohmann::json& entry, std::uint64_t data_bytes) {
  const std::string what = "tensor " + quoted_name(name);
  return with_name(what, [&] {
    JsonFields fields(entry, "entry.");
    Place place;
    place.tensor.name = name;
    place.tensor.format = format_of(fields.string("dtype"));
    place.tensor.sizes = unsigned_integers(fields.value("shape"), 1, 4, "shape");
    std::ranges::reverse(place.tensor.sizes);
    std::uint64_t elements = 1;
    for (const std::uint64_t size : place.tensor.sizes) {
      check(size != 0 && size <= kMostElements / elements, "impossible size ", size);
      elements *= size;
    }
    const auto offsets = unsigned_integers(fields.value("data_offsets"), 2, 2, "data_offsets");
    place.begin = offsets[0];
    place.end = offsets[1];
    check(place.begin <= place.end && place.end <= data_bytes, "lies at ", place.begin, " to ",
          place.end, " of ", data_bytes, " bytes of data");
    const std::uint64_t bytes = elements * block_bytes(place.tensor.format);
    check(place.end - place.begin == bytes, "needs ", bytes, " bytes, has ",
          place.end - place.begin);
    fields.refuse_others();
    return place;
  });
}

/// The data is to be full, by the format's definition: there is no room for what nobody looks at.
void check_places(const std::vector<Place>& ordered, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const Place& place : ordered) {
    check(place.begin == end, label(place.tensor), " begins at ", place.begin,
          place.begin < end ? " inside of" : " behind a gap after", " what ends at ", end);
    end = place.end;
  }
  check(end == data_bytes, data_bytes - end, " bytes of data belong to no tensor");
}

TensorTable read(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check(!text.starts_with("version https://git-lfs"),
        "is a Git LFS pointer, not the weights (git lfs pull fetches them)");
  ByteReader reader(bytes);
  const auto length = reader.number<std::uint64_t>("the header's length");
  const auto header = reader.take(length, "the header");
  const auto data = reader.take(reader.remaining(), "the data");
  const nlohmann::json document = with_name("the header", [&] {
    return parse_json({reinterpret_cast<const char*>(header.data()), header.size()}, kHeaderLimits);
  });
  check(document.is_object(), "the header is not a JSON object");

  std::vector<Place> places;
  for (const auto& [name, entry] : document.items()) {
    if (name != "__metadata__") places.push_back(read_place(name, entry, data.size()));
  }
  std::ranges::stable_sort(places, {}, &Place::begin);
  check_places(places, data.size());
  TensorTable table;
  for (Place& place : places) {
    place.tensor.data = data.subspan(place.begin, place.end - place.begin);
    table.add(std::move(place.tensor));
  }
  return table;
}

bool is_plain_file_name(std::string_view name) {
  return name.size() <= 255 && name.ends_with(".safetensors") && !name.starts_with(".") &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c != '/' && c != '\\'; });
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path),
      file_(path),
      table_(with_name(path_.string(), [&] { return read(file_->bytes()); })) {}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::filesystem::path path)
    : path_(std::move(path)), table_(with_name(path_.string(), [&] { return read(bytes); })) {}

std::map<std::string, std::string> read_safetensors_index(std::string_view json) {
  const nlohmann::json document = parse_json(json, kHeaderLimits);
  JsonFields fields(document);
  JsonFields weights = fields.object("weight_map");
  std::map<std::string, std::string> file_of;
  for (const std::string& tensor : weights.names()) {
    std::string file = weights.string(tensor);
    check(is_plain_file_name(file), "field ", weights.full(tensor), " is ", quoted_name(file),
          ", not the name of a .safetensors file in the folder");
    file_of.emplace(tensor, std::move(file));
  }
  constexpr std::array<std::string_view, 1> kHarmless{"metadata"};
  fields.refuse_others(kHarmless);
  return file_of;
}

}  // namespace headwise
