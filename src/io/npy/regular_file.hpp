// Reads a regular file from its begin.
//
//   REPRISE_ASSIGN(RegularFile file, RegularFile::open("x.npy"));
//   REPRISE_RETURN_IF_ERROR(file.read(buffer));
//
// Anything but a regular file is refused, without waiting for a pipe's other end: only a file has a size to hold
// headers against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "reprise/status.hpp"

namespace reprise {

class RegularFile {
 public:
  static Result<RegularFile> open(const std::string& path);

  RegularFile(RegularFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), position_(other.position_) {}
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  std::uint64_t size() const { return size_; }

  /// Fills the whole span with the next bytes.
  Status read(std::span<std::byte> into);

  /// Gives the descriptor away; the caller closes it.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  RegularFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace reprise
