#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "base/format.hpp"

namespace reprise {
namespace {

Error system_error(const std::string& path, const char* action, int error = errno) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
  return make_error(code, "{}: cannot {}: {}", path, action, std::generic_category().message(error));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Makes the new name durable. Best effort: the file is in place already, and some file systems cannot sync a folder.
void sync_folder(const std::string& path) {
  const int descriptor = ::open(folder_of(path).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return make_error(ErrorCode::invalid_argument, "'{}': not a path of a file", path.c_str());
  }
  std::string target = path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    if (!resolved) return system_error(path, "follow the link");
    target = resolved.get();
  }
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return make_error(ErrorCode::io, "{}: is a directory, wanted a file", path);
  if (exists && !S_ISREG(info.st_mode)) {
    return make_error(ErrorCode::io, "{}: is a pipe, socket or device, wanted a regular file", path);
  }

  // The name of a temporary file is never the caller's whole name: that may be as long as the file system allows.
  static std::atomic<std::uint32_t> counter{0};
  const std::string folder = folder_of(target);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = fmt::format("{}/.reprise-{}-{}.tmp", folder, ::getpid(), counter++);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      if (errno == EEXIST) continue;  // left by a process that was killed
      return system_error(path, "create a file in its folder");
    }
    AtomicFile file(path, target, std::move(temporary), descriptor);
    if (exists && ::fchmod(descriptor, info.st_mode & 07777) != 0) return system_error(path, "keep the permissions");
    return file;
  }
  return make_error(ErrorCode::io, "{}: cannot find a free name for a temporary file in its folder", path);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::move(other.target_);
    temporary_ = std::exchange(other.temporary_, {});
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) return make_error(ErrorCode::invalid_argument, "{}: already written or given up", path_);
  while (!bytes.empty()) {
    // Linux writes at most about 2 GiB at a time.
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), 1U << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      discard();
      return system_error(path_, "write", error);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status AtomicFile::commit() {
  if (descriptor_ < 0) return make_error(ErrorCode::invalid_argument, "{}: already written or given up", path_);
  const auto failed = [this](const char* action) {
    const int error = errno;
    discard();
    return system_error(path_, action, error);
  };
  if (::fsync(descriptor_) != 0) return failed("write to the disk");
  if (::close(std::exchange(descriptor_, -1)) != 0) return failed("close");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed("rename to");
  temporary_.clear();
  sync_folder(target_);
  return {};
}

Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  REPRISE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  REPRISE_RETURN_IF_ERROR(file.write(bytes));
  return file.commit();
}

Status write_file_atomically(const std::string& path, std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace reprise
