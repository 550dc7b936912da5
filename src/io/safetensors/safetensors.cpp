#include "io/safetensors/safetensors.hpp"

#include <fcntl.h>
#include <mlx/mlx.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <unordered_set>

#include "base/format.hpp"
#include "io/atomic_file.hpp"
#include "io/safetensors/header.hpp"
#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::uint64_t kLengthBytes = 8;

/// An open regular file.
class File {
 public:
  static Result<File> open(const std::string& path) {
    if (path.find('\0') != std::string::npos) {
      return make_error(ErrorCode::invalid_argument, "{}: not a path of a file", path.c_str());
    }
    // Not blocking: a pipe must be refused, not waited for.
    File file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.descriptor_ < 0) return file.failed("open");
    struct stat info {};
    if (::fstat(file.descriptor_, &info) != 0) return file.failed("look at");
    if (!S_ISREG(info.st_mode)) return make_error(ErrorCode::io, "{}: not a regular file", path);
    file.size_ = static_cast<std::uint64_t>(info.st_size);
    return file;
  }

  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::uint64_t size() const { return size_; }

  Status read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t n = ::pread(descriptor_, at, std::min<std::uint64_t>(bytes, 1U << 30), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("read");
      if (n == 0)
        return make_error(ErrorCode::io, "{}: ends at byte {}, shorter than when it was opened", path_, offset);
      at += n;
      offset += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::uint64_t>(n);
    }
    return {};
  }

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  Error failed(std::string_view what) const {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
    return make_error(code, "{}: cannot {}: {}", path_, what, std::generic_category().message(errno));
  }

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

// Straight from the file into the array's own memory.
Result<mx::array> read_tensor(const File& file, std::uint64_t data_start, const safetensors::Entry& entry) {
  const std::uint64_t bytes = entry.end - entry.begin;
  mx::allocator::Data data = mx::allocator::malloc(std::max<std::uint64_t>(bytes, 1));
  auto* to = static_cast<unsigned char*>(data.buffer().raw_ptr());
  REPRISE_RETURN_IF_ERROR(file.read(data_start + entry.begin, to, bytes));
  if (entry.type.dtype == DType::bool_) {
    // Any other value in a bool is undefined behaviour for whoever reads it.
    std::transform(to, to + bytes, to, [](unsigned char b) -> unsigned char { return b != 0 ? 1 : 0; });
  }
  return mx::array(std::move(data), to_mlx(entry.type.shape), to_mlx(entry.type.dtype));
}

Result<mx::array> dense(const mx::array& array) {
  mx::array out = array;
  if (!out.is_available()) out.eval();
  if (!out.flags().row_contiguous && out.size() > 0) {
    out = mx::contiguous(out, false, mx::default_stream(mx::Device::cpu));
    out.eval();
  }
  return out;
}

// Large elements first, so that each tensor is aligned for its dtype.
std::vector<std::size_t> placement(std::span<const std::pair<std::string, mx::array>> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].second.itemsize() > tensors[b].second.itemsize();
  });
  return order;
}

Result<std::string> make_header(std::span<const std::pair<std::string, mx::array>> tensors,
                                const std::vector<std::size_t>& order, const SafetensorsMetadata& metadata) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> offsets(tensors.size());
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    offsets[i] = {at, at + tensors[i].second.nbytes()};
    at = offsets[i].second;
  }
  std::string text = "{";
  const auto add = [&](const std::string& key, const nlohmann::ordered_json& value) {
    if (text.size() > 1) text += ',';
    text += nlohmann::ordered_json(key).dump() + ":" + value.dump();
  };
  if (!metadata.empty()) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& [key, value] : metadata) object[key] = value;
    add("__metadata__", object);
  }
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, array] = tensors[i];
    if (name == "__metadata__") {
      return make_error(ErrorCode::invalid_argument, "tensor {}: no tensor can be called __metadata__", i);
    }
    if (!names.insert(name).second) {
      return make_error(ErrorCode::invalid_argument, "tensor {}: the name '{}' occurs twice", i, name);
    }
    const TensorType type = type_of(array);
    add(name, {{"dtype", safetensors::file_name(type.dtype)},
               {"shape", type.shape},
               {"data_offsets", {offsets[i].first, offsets[i].second}}});
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts aligned
  if (text.size() > safetensors::kMaxHeaderBytes) {
    return make_error(ErrorCode::limit, "a header of {} bytes; readers take at most {}", text.size(),
                      safetensors::kMaxHeaderBytes);
  }
  return text;
}

}  // namespace

Result<SafetensorsTensors> read_safetensors(const std::string& path, SafetensorsMetadata* metadata) {
  try {
    REPRISE_ASSIGN(const File file, File::open(path));
    if (file.size() < kLengthBytes) {
      return make_error(ErrorCode::bad_file, "{}: {} bytes; a safetensors file has {} or more", path, file.size(),
                        kLengthBytes);
    }
    std::uint64_t length = 0;
    REPRISE_RETURN_IF_ERROR(file.read(0, &length, sizeof length));
    const std::uint64_t most = std::min(file.size() - kLengthBytes, safetensors::kMaxHeaderBytes);
    if (length > most) {
      return make_error(ErrorCode::bad_file, "{}: a header of {} bytes; wanted at most {}", path, length, most);
    }
    std::string json(length, '\0');
    REPRISE_RETURN_IF_ERROR(file.read(kLengthBytes, json.data(), length));
    const std::uint64_t data_start = kLengthBytes + length;
    auto header = safetensors::parse_header(json, file.size() - data_start);
    if (!header) return header.error().with_context(path);
    SafetensorsTensors out;
    out.reserve(header->entries.size());
    for (const safetensors::Entry& entry : header->entries) {
      REPRISE_ASSIGN(mx::array array, read_tensor(file, data_start, entry));
      out.emplace_back(entry.name, std::move(array));
    }
    if (metadata) *metadata = std::move(header->metadata);
    return out;
  } catch (const std::exception& e) {  // out of memory
    return make_error(ErrorCode::io, "{}: {}", path, e.what());
  }
}

Status write_safetensors(const std::string& path, std::span<const std::pair<std::string, mx::array>> tensors,
                         const SafetensorsMetadata& metadata) {
  try {
    const auto order = placement(tensors);
    auto header = make_header(tensors, order, metadata);
    if (!header) return header.error().with_context(path);
    const std::uint64_t length = header->size();
    REPRISE_ASSIGN(AtomicFile file, AtomicFile::create(path));
    REPRISE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&length, 1))));
    REPRISE_RETURN_IF_ERROR(file.write(*header));
    for (const std::size_t i : order) {
      REPRISE_ASSIGN(const mx::array array, dense(tensors[i].second));
      if (array.size() == 0) continue;
      REPRISE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(array.data<char>(), array.nbytes()))));
    }
    return file.commit();
  } catch (const std::exception& e) {  // an array that fails to evaluate, a name that is not UTF-8
    return make_error(ErrorCode::invalid_argument, "{}: {}", path, e.what());
  }
}

}  // namespace reprise
