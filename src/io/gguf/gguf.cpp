// The structure of the file: header, entries, tensor infos, and where the tensors lie.
#include "io/gguf/gguf.hpp"

#include <bit>
#include <exception>
#include <limits>
#include <utility>

#include "io/gguf/value_reader.hpp"

namespace reprise::gguf {
namespace {

// The least that each takes: key length, value type, one byte; name length, one dimension, type, offset.
constexpr std::size_t kLeastEntry = 8 + 4 + 1;
constexpr std::size_t kLeastTensorInfo = 8 + 4 + 8 + 4 + 8;
constexpr std::uint32_t kMostDimensions = 4;
constexpr auto kLargestDimension = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// Bytes of all elements, or why they cannot be counted.
Result<std::uint64_t> byte_size(const Tensor& tensor, const TypeInfo& info) {
  if (tensor.dims[0] % info.block != 0) {
    return make_error(ErrorCode::bad_file, "rows have {} elements, wanted a multiple of {} for {}", tensor.dims[0],
                      info.block, info.name);
  }
  std::uint64_t elements = 1;
  for (const std::int64_t d : tensor.dims) {
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(d), &elements) || elements > kLargestDimension) {
      return make_error(ErrorCode::bad_file, "dimensions {} have more elements than 2^63", to_string(tensor.dims));
    }
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / info.block, std::uint64_t{info.bytes}, &bytes)) {
    return make_error(ErrorCode::bad_file, "dimensions {} of {} take more bytes than 2^64", to_string(tensor.dims),
                      info.name);
  }
  return bytes;
}

Result<Tensor> read_tensor_info(Cursor& cursor, std::string_view tensor_name) {
  Tensor tensor{.name = tensor_name};
  REPRISE_ASSIGN(const auto rank, cursor.read<std::uint32_t>("number of dimensions"));
  if (rank < 1 || rank > kMostDimensions) {
    return make_error(ErrorCode::bad_file, "has {} dimensions, wanted 1 to {}", rank, kMostDimensions);
  }
  for (std::uint32_t i = 0; i < rank; ++i) {
    REPRISE_ASSIGN(const auto dimension, cursor.read<std::uint64_t>("dimension"));
    if (dimension > kLargestDimension) {
      return make_error(ErrorCode::bad_file, "dimension {} is {}, wanted less than 2^63", i, dimension);
    }
    tensor.dims.push_back(static_cast<std::int64_t>(dimension));
  }
  tensor.shape.assign(tensor.dims.rbegin(), tensor.dims.rend());
  REPRISE_ASSIGN(const auto type, cursor.read<std::uint32_t>("type"));
  tensor.type = static_cast<ElementType>(type);
  if (type_info(tensor.type) == nullptr) {
    return make_error(ErrorCode::unsupported, "element type is {}, which is not a known GGUF type", type);
  }
  REPRISE_ASSIGN(tensor.offset, cursor.read<std::uint64_t>("offset"));
  return tensor;
}

Result<std::uint32_t> read_version(Cursor& cursor) {
  REPRISE_ASSIGN(const auto magic, cursor.take(4, "magic"));
  const std::string_view seen(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (seen != "GGUF") {
    return make_error(ErrorCode::bad_file, "starts with {}, wanted 'GGUF': not a GGUF file", quote(seen));
  }
  REPRISE_ASSIGN(const auto version, cursor.read<std::uint32_t>("version"));
  if (version != 0 && (version & 0xffffU) == 0) {
    return make_error(ErrorCode::unsupported, "is big-endian GGUF (version bytes {:#010x}), wanted little-endian",
                      version);
  }
  if (version != 2 && version != 3) {
    return make_error(ErrorCode::unsupported, "is GGUF version {}, wanted 2 or 3", version);
  }
  return version;
}

}  // namespace

Result<File> File::open(const std::string& path) {
  REPRISE_ASSIGN(MappedFile mapping, MappedFile::open(path));
  REPRISE_ASSIGN(File file, parse(mapping.bytes(), path));
  file.mapping_ = std::move(mapping);
  return file;
}

Result<File> File::parse(std::span<const std::byte> bytes, std::string name) {
  try {
    File file;
    file.path_ = name;
    if (const Status status = file.read(bytes); !status) return status.error().with_context(file.path_);
    return file;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::limit, "{}: {} bytes of GGUF: out of memory: {}", name, bytes.size(), e.what());
  }
}

Status File::read(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  REPRISE_ASSIGN(version_, read_version(cursor));
  REPRISE_ASSIGN(const auto tensor_count, cursor.read<std::uint64_t>("tensor count"));
  REPRISE_ASSIGN(const auto entry_count, cursor.read<std::uint64_t>("metadata count"));
  REPRISE_RETURN_IF_ERROR(read_entries(cursor, entry_count));
  REPRISE_RETURN_IF_ERROR(read_alignment());
  REPRISE_RETURN_IF_ERROR(read_tensor_infos(cursor, tensor_count));
  return locate_tensors(bytes, cursor.position());
}

Status File::read_entries(Cursor& cursor, std::uint64_t count) {
  REPRISE_RETURN_IF_ERROR(cursor.check_count(count, kLeastEntry, "metadata"));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = cursor.read_string("key");
    if (!key) return key.error().with_context(fmt::format("metadata entry {} of {}", i, count));
    const std::string where = fmt::format("key {}", quote(*key));
    const auto type = cursor.read<std::uint32_t>("value type");
    if (!type) return type.error().with_context(where);
    const auto value = read_value(cursor, static_cast<ValueType>(*type), kDeepestArray);
    if (!value) return value.error().with_context(where);
    if (!entry_index_.emplace(*key, entries_.size()).second) {
      return make_error(ErrorCode::bad_file, "{}: appears twice", where);
    }
    entries_.push_back({*key, *value});
  }
  return {};
}

Status File::read_alignment() {
  constexpr std::string_view kKey = "general.alignment";
  const Value* value = find(kKey);
  if (value == nullptr) return {};
  const auto alignment = get_uint(kKey);
  if (!alignment || !std::has_single_bit(*alignment) || *alignment > (1U << 31)) {
    return make_error(ErrorCode::bad_file, "key {}: is {}, wanted a power of two up to 2^31", quote(kKey),
                      describe(*value));
  }
  alignment_ = *alignment;
  return {};
}

Status File::read_tensor_infos(Cursor& cursor, std::uint64_t count) {
  REPRISE_RETURN_IF_ERROR(cursor.check_count(count, kLeastTensorInfo, "tensors"));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto tensor_name = cursor.read_string("name");
    if (!tensor_name) return tensor_name.error().with_context(fmt::format("tensor {} of {}", i, count));
    auto tensor = read_tensor_info(cursor, *tensor_name);
    if (!tensor) return tensor.error().with_context(fmt::format("tensor {}", quote(*tensor_name)));
    if (!tensor_index_.emplace(*tensor_name, tensors_.size()).second) {
      return make_error(ErrorCode::bad_file, "tensor {}: appears twice", quote(*tensor_name));
    }
    tensors_.push_back(*std::move(tensor));
  }
  return {};
}

Status File::locate_tensors(std::span<const std::byte> bytes, std::uint64_t infos_end) {
  // Neither sum can wrap: the position is a size in memory and the alignment is at most 2^31.
  const std::uint64_t data_start = (infos_end + alignment_ - 1) / alignment_ * alignment_;
  const std::uint64_t data_size = data_start < bytes.size() ? bytes.size() - data_start : 0;
  for (Tensor& tensor : tensors_) {
    const TypeInfo& info = *type_info(tensor.type);
    const auto size = byte_size(tensor, info);
    if (!size) return size.error().with_context(fmt::format("tensor {}", quote(tensor.name)));
    if (tensor.offset % alignment_ != 0) {
      return make_error(ErrorCode::bad_file, "tensor {}: offset {} is not a multiple of the alignment {}",
                        quote(tensor.name), tensor.offset, alignment_);
    }
    if (tensor.offset > data_size || *size > data_size - tensor.offset) {
      return make_error(ErrorCode::bad_file,
                        "tensor {}: {} {} takes {} bytes, expected at offset {} of the data, which begins at byte {}; "
                        "the file has {} bytes",
                        quote(tensor.name), info.name, to_string(tensor.dims), *size, tensor.offset, data_start,
                        bytes.size());
    }
    // An empty tensor of a file without a data section has no byte to point at.
    if (*size != 0) tensor.data = bytes.subspan(data_start + tensor.offset, *size);
  }
  return {};
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

Result<const Tensor*> File::get_tensor(std::string_view name) const {
  const Tensor* tensor = find_tensor(name);
  if (tensor == nullptr) return make_error(ErrorCode::not_found, "{}: tensor {}: missing", path_, quote(name));
  return tensor;
}

std::vector<const Tensor*> File::unsupported_tensors() const {
  std::vector<const Tensor*> result;
  for (const Tensor& tensor : tensors_) {
    if (!type_info(tensor.type)->supported()) result.push_back(&tensor);
  }
  return result;
}

Status File::check_supported() const {
  constexpr std::size_t kMostListed = 8;
  const std::vector<const Tensor*> tensors = unsupported_tensors();
  if (tensors.empty()) return {};
  std::string list;
  for (std::size_t i = 0; i < tensors.size() && i < kMostListed; ++i) {
    list += fmt::format("{}{} is {}", i == 0 ? "" : ", ", quote(tensors[i]->name), gguf::name(tensors[i]->type));
  }
  if (tensors.size() > kMostListed) list += fmt::format(", and {} more", tensors.size() - kMostListed);
  return make_error(ErrorCode::unsupported, "{}: {} of {} tensors have types that cannot be used: {}", path_,
                    tensors.size(), tensors_.size(), list);
}

}  // namespace reprise::gguf
