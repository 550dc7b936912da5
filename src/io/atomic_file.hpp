// Writes a file completely or not at all.
//
//   REPRISE_ASSIGN(AtomicFile file, AtomicFile::create("program.rp"));
//   REPRISE_RETURN_IF_ERROR(file.write(header));
//   REPRISE_RETURN_IF_ERROR(file.write(body));
//   return file.commit();   // until here "program.rp" is what it was before
//
// The bytes go to a temporary file in the same folder, which takes the name at the end. Whatever fails, and whenever
// the object goes without commit(), the temporary file is removed and the old file stays.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "reprise/status.hpp"

namespace reprise {

class AtomicFile {
 public:
  /// Refuses a path that is a folder, a pipe or a device: the rename would put a file in its place. A symbolic link
  /// stays; the file that it names is replaced.
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  /// Makes the bytes durable and gives them their name. Nothing can be written afterwards.
  Status commit();

 private:
  AtomicFile(std::string path, std::string target, std::string temporary, int descriptor)
      : path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

  void discard();

  std::string path_;       // as the caller wrote it, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty once renamed or removed
  int descriptor_ = -1;
};

/// All in one call.
Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
Status write_file_atomically(const std::string& path, std::string_view text);

}  // namespace reprise
