#include "io/npy/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/format.hpp"

namespace reprise {
namespace {

Error system_error(const char* action) {
  const int error = errno;
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
  return make_error(code, "cannot {}: {}", action, std::generic_category().message(error));
}

}  // namespace

Result<RegularFile> RegularFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return Error(ErrorCode::invalid_argument, "path has a NUL in it");
  // O_NONBLOCK: opening a pipe that nobody writes to would wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error("open");
  RegularFile file(descriptor, 0);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return system_error("ask for the size");
  if (S_ISDIR(info.st_mode)) return Error(ErrorCode::io, "is a directory, wanted a file");
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::io, "is a pipe, socket or device, wanted a regular file");
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status RegularFile::read(std::span<std::byte> into) {
  while (!into.empty()) {
    // Linux reads at most about 2 GiB at a time.
    const ssize_t got = ::read(descriptor_, into.data(), std::min<std::size_t>(into.size(), 1U << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read");
    if (got == 0) return make_error(ErrorCode::io, "became shorter while it was read: ends at byte {}", position_);
    position_ += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace reprise
