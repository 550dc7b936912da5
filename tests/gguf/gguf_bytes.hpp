// Writes GGUF files in memory, wrong ones too.
//
//   GgufBytes gguf;
//   gguf.add_string("general.architecture", "llama").add_tensor("w", {32, 2}, 3, blocks);
//   Result<gguf::File> file = gguf::File::parse(gguf.build(), "test.gguf");   // the bytes must outlive the file
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::gguf::testing {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& bytes, const T& number) {
  for (const std::byte b : std::bit_cast<std::array<std::byte, sizeof(T)>>(number)) bytes.push_back(b);
}

inline void append_string(Bytes& bytes, std::string_view text) {
  append(bytes, std::uint64_t{text.size()});
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), begin, begin + text.size());
}

template <typename T>
Bytes bytes_of(const std::vector<T>& numbers) {
  Bytes bytes;
  for (const T& number : numbers) append(bytes, number);
  return bytes;
}

/// A block of 32 codes: sixteen bytes of nibbles or 32 bytes, behind the 16-bit words given.
inline Bytes block(std::initializer_list<std::uint16_t> words, const Bytes& codes) {
  Bytes bytes = bytes_of(std::vector<std::uint16_t>(words));
  bytes.insert(bytes.end(), codes.begin(), codes.end());
  return bytes;
}

class GgufBytes {
 public:
  std::uint32_t version = 3;
  std::size_t alignment = 32;                 ///< that the data is laid out by; add the key yourself
  bool pad_end = false;                       ///< after the last tensor
  std::optional<std::uint64_t> tensor_count;  ///< to lie about it
  std::optional<std::uint64_t> entry_count;

  /// `type` as in files: 4 is u32, 8 a string, 9 an array.
  GgufBytes& add(std::string_view key, std::uint32_t type, const Bytes& value) {
    append_string(entries_, key);
    append(entries_, type);
    entries_.insert(entries_.end(), value.begin(), value.end());
    ++entries_written_;
    return *this;
  }

  template <typename T>
  GgufBytes& add_number(std::string_view key, std::uint32_t type, T number) {
    return add(key, type, bytes_of(std::vector<T>{number}));
  }

  GgufBytes& add_string(std::string_view key, std::string_view text) {
    Bytes value;
    append_string(value, text);
    return add(key, 8, value);
  }

  GgufBytes& add_array(std::string_view key, std::uint32_t element_type, std::uint64_t count, const Bytes& content) {
    Bytes value;
    append(value, element_type);
    append(value, count);
    value.insert(value.end(), content.begin(), content.end());
    return add(key, 9, value);
  }

  GgufBytes& add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                        const Bytes& data, std::optional<std::uint64_t> offset = {}) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    append_string(infos_, name);
    append(infos_, static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t d : dims) append(infos_, d);
    append(infos_, type);
    append(infos_, offset.value_or(data_.size()));
    data_.insert(data_.end(), data.begin(), data.end());
    ++tensors_written_;
    return *this;
  }

  Bytes build() const {
    Bytes bytes;
    for (const char c : std::string_view("GGUF")) bytes.push_back(static_cast<std::byte>(c));
    append(bytes, version);
    append(bytes, tensor_count.value_or(tensors_written_));
    append(bytes, entry_count.value_or(entries_written_));
    bytes.insert(bytes.end(), entries_.begin(), entries_.end());
    bytes.insert(bytes.end(), infos_.begin(), infos_.end());
    if (tensors_written_ != 0) pad(bytes);
    bytes.insert(bytes.end(), data_.begin(), data_.end());
    if (pad_end) pad(bytes);
    bytes.shrink_to_fit();  // so that the address sanitizer sees a read past the end
    return bytes;
  }

 private:
  void pad(Bytes& bytes) const { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }

  Bytes entries_;
  Bytes infos_;
  Bytes data_;
  std::uint64_t entries_written_ = 0;
  std::uint64_t tensors_written_ = 0;
};

}  // namespace reprise::gguf::testing
