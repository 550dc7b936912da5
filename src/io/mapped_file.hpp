// A whole file as read-only bytes, without copying it.
//
//   Result<MappedFile> file = MappedFile::open("model.gguf");
//   if (!file) return file.error();
//   parse(file->bytes());
//
// Only regular files are taken: a pipe or a device has no length to check reads against. The bytes are those on disk; a
// file that another process shortens while it is mapped cannot be read safely by anyone.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "reprise/status.hpp"

namespace reprise {

/// Owns a mapping; the bytes stay at the same address when the object is moved.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  MappedFile(void* address, std::size_t size) : address_(address), size_(size) {}

  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace reprise
