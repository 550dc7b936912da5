// Bounds-checked reading of little-endian bytes.
//
//   Cursor cursor(bytes);
//   REPRISE_ASSIGN(const auto count, cursor.read<std::uint64_t>("tensor count"));
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/format.hpp"

namespace reprise::gguf {

static_assert(std::endian::native == std::endian::little, "values are taken from the file as they are");

/// A number at any address.
template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  std::span<const std::byte> since(std::size_t start) const { return bytes_.subspan(start, position_ - start); }

  Result<std::span<const std::byte>> take(std::uint64_t count, std::string_view what) {
    if (count > left()) {
      return make_error(ErrorCode::bad_file, "{}: expected {} bytes at byte {}, found {}: the file has {} bytes", what,
                        count, position_, left(), bytes_.size());
    }
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <typename T>
  Result<T> read(std::string_view what) {
    REPRISE_ASSIGN(const auto taken, take(sizeof(T), what));
    return load<T>(taken.data());
  }

  Result<std::string_view> read_string(std::string_view what) {
    REPRISE_ASSIGN(const auto length, read<std::uint64_t>(what));
    REPRISE_ASSIGN(const auto taken, take(length, what));
    return std::string_view(reinterpret_cast<const char*>(taken.data()), taken.size());
  }

  /// Whether `count` items of at least `size` bytes each can follow: asked before anything is sized by a count.
  Status check_count(std::uint64_t count, std::size_t size, std::string_view what) const {
    if (count > left() / size) {
      return make_error(ErrorCode::bad_file,
                        "{}: {} items take at least {} bytes each, found {} at byte {}: the file has {} bytes", what,
                        count, size, left(), position_, bytes_.size());
    }
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace reprise::gguf
