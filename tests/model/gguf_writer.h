#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The bytes of a little-endian file, put one after another.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& raw(std::string_view bytes) { return text_.append(bytes), *this; }
  Bytes& string(std::string_view text) { return number<std::uint64_t>(text.size()).raw(text); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Builds GGUF files, broken ones too: each number of the header can be set to anything.
class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;       // of the padding; a file says so with a key of its own
  std::uint64_t claimed_keys = 0;     // more than there are
  std::uint64_t claimed_tensors = 0;  // more than there are

  GgufWriter& key(std::string_view name, std::uint32_t type, const Bytes& value) {
    keys_.string(name).number(type).raw(value.text());
    ++key_count_;
    return *this;
  }
  GgufWriter& u32(std::string_view name, std::uint32_t value) {
    return key(name, 4, Bytes().number(value));
  }
  GgufWriter& f32(std::string_view name, float value) {
    return key(name, 6, Bytes().number(value));
  }
  GgufWriter& string(std::string_view name, std::string_view value) {
    return key(name, 8, Bytes().string(value));
  }
  GgufWriter& strings(std::string_view name, const std::vector<std::string>& values) {
    Bytes bytes;
    bytes.number<std::uint32_t>(8).number<std::uint64_t>(values.size());
    for (const std::string& value : values) bytes.string(value);
    return key(name, 9, bytes);
  }
  GgufWriter& integers(std::string_view name, const std::vector<std::int32_t>& values) {
    Bytes bytes;
    bytes.number<std::uint32_t>(5).number<std::uint64_t>(values.size());
    for (const std::int32_t value : values) bytes.number(value);
    return key(name, 9, bytes);
  }
  GgufWriter& booleans(std::string_view name, const std::vector<bool>& values) {
    Bytes bytes;
    bytes.number<std::uint32_t>(7).number<std::uint64_t>(values.size());
    for (const bool value : values) bytes.number<std::uint8_t>(value ? 1 : 0);
    return key(name, 9, bytes);
  }

  /// Only the record: the data is what `data` was given.
  GgufWriter& record(std::string_view name, const std::vector<std::uint64_t>& sizes,
                     std::uint32_t type, std::uint64_t offset) {
    records_.string(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) records_.number(size);
    records_.number(type).number(offset);
    ++tensor_count_;
    return *this;
  }
  /// The record of a tensor behind those before it, and its data.
  GgufWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes,
                     std::uint32_t type, std::string_view bytes) {
    record(name, sizes, type, data_.size());
    data_ += bytes;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  GgufWriter& data(std::string_view bytes) { return data_ += bytes, *this; }

  std::string text() const {
    Bytes file;
    file.raw("GGUF").number(version);
    file.number(tensor_count_ + claimed_tensors).number(key_count_ + claimed_keys);
    file.raw(keys_.text()).raw(records_.text());
    std::string padded = file.text();
    padded.resize((padded.size() + alignment - 1) / alignment * alignment);
    return padded + data_;
  }

 private:
  Bytes keys_;
  Bytes records_;
  std::string data_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

/// A file that goes when the object does.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    std::string name = std::filesystem::temp_directory_path() / "headwise-XXXXXX";
    const int file = mkstemp(name.data());
    if (file >= 0) close(file);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace headwise
