#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "base/format.hpp"

namespace reprise {
namespace {

Error system_error(const std::string& path, const char* action) {
  const int error = errno;
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
  return make_error(code, "{}: cannot {}: {}", path, action, std::generic_category().message(error));
}

Status check_regular(const std::string& path, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) return make_error(ErrorCode::io, "{}: is a directory, wanted a file", path);
  if (!S_ISREG(info.st_mode)) {
    return make_error(ErrorCode::io, "{}: is a pipe, socket or device, wanted a regular file", path);
  }
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return make_error(ErrorCode::invalid_argument, "{}: the path holds a zero byte", path.c_str());
  }
  struct stat info {};
  // Asked before opening, as opening alone can have effects on a device; asked again after, as the name may have
  // changed.
  if (::stat(path.c_str(), &info) != 0) return system_error(path, "open");
  REPRISE_RETURN_IF_ERROR(check_regular(path, info));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(path, "open");
  const struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};

  if (::fstat(descriptor, &info) != 0) return system_error(path, "read the size");
  REPRISE_RETURN_IF_ERROR(check_regular(path, info));
  if (info.st_size <= 0) return make_error(ErrorCode::bad_file, "{}: is empty: expected content, found 0 bytes", path);
  if (static_cast<std::uintmax_t>(info.st_size) > std::numeric_limits<std::size_t>::max()) {
    return make_error(ErrorCode::limit, "{}: {} bytes do not fit in memory addresses", path, info.st_size);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return system_error(path, "map");
  return MappedFile(address, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace reprise
