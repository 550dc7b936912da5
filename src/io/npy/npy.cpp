#include "io/npy/npy.hpp"

#include <mlx/allocator.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "io/atomic_file.hpp"
#include "io/npy/regular_file.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

static_assert(std::endian::native == std::endian::little, "elements are written as they are in memory");

// Copies a strided tensor to row-major order. Strides count elements.
template <typename T>
void copy_row_major(const T* from, const Shape& shape, const std::vector<std::int64_t>& strides, T* to) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  const std::size_t last = shape.size() - 1;
  Shape index(shape.size(), 0);
  std::int64_t offset = 0;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  while (true) {
    for (std::int64_t i = 0; i < shape[last]; ++i) *to++ = from[offset + i * strides[last]];
    std::size_t axis = last;
    while (axis-- > 0) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == std::numeric_limits<std::size_t>::max()) return;
  }
}

void copy_row_major(std::size_t item, const void* from, const Shape& shape, const std::vector<std::int64_t>& strides,
                    void* to) {
  const auto copy = [&]<typename T>(T) {
    copy_row_major(static_cast<const T*>(from), shape, strides, static_cast<T*>(to));
  };
  switch (item) {
    case 1: return copy(std::uint8_t{});
    case 2: return copy(std::uint16_t{});
    case 4: return copy(std::uint32_t{});
    default: return copy(std::uint64_t{});
  }
}

void swap_bytes(std::span<std::byte> data, std::size_t item) {
  for (std::size_t i = 0; i < data.size(); i += item) std::reverse(data.begin() + i, data.begin() + i + item);
}

// The first axis is the one that varies fastest.
std::vector<std::int64_t> fortran_strides(const Shape& shape) {
  std::vector<std::int64_t> strides;
  std::int64_t stride = 1;
  for (const std::int64_t axis : shape) {
    strides.push_back(stride);
    stride *= std::max<std::int64_t>(axis, 1);
  }
  return strides;
}

mx::Dtype to_mlx(DType dtype) {
  return mx::Dtype(static_cast<mx::Dtype::Val>(dtype), static_cast<std::uint8_t>(size_of(dtype)));
}

// MLX reports that memory is missing, and that an evaluation failed, by exceptions.
template <typename Function>
auto catch_exceptions(ErrorCode code, const char* action, Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    return make_error(code, "cannot {}: {}", action, error.what());
  }
}

Result<mx::array> read_elements(const NpyHeader& header, const ReadBytes& read) {
  const std::size_t size = npy_data_size(header);
  const std::size_t item = size_of(header.dtype);
  mx::allocator::Data memory = mx::allocator::malloc(std::max<std::size_t>(size, 1));
  auto* target = static_cast<std::byte*>(memory.buffer().raw_ptr());
  if (!target) return make_error(ErrorCode::limit, "cannot allocate {} bytes", size);

  std::vector<std::byte> columns;
  if (header.fortran_order && header.shape.size() > 1) columns.resize(size);
  const std::span<std::byte> raw = columns.empty() ? std::span(target, size) : std::span(columns);
  REPRISE_RETURN_IF_ERROR(read(raw));
  if (header.big_endian) swap_bytes(raw, header.dtype == DType::complex64 ? item / 2 : item);
  if (header.dtype == DType::bool_) {
    // Reading such a byte as a bool is undefined in C++.
    const auto strange = std::find_if(raw.begin(), raw.end(), [](std::byte b) { return b > std::byte{1}; });
    if (strange != raw.end()) {
      return make_error(ErrorCode::bad_file, "boolean element {} is {}, wanted 0 or 1", strange - raw.begin(),
                        std::to_integer<int>(*strange));
    }
  }
  if (!columns.empty()) copy_row_major(item, columns.data(), header.shape, fortran_strides(header.shape), target);
  return mx::array(std::move(memory), mx::Shape(header.shape.begin(), header.shape.end()), to_mlx(header.dtype));
}

}  // namespace

Result<mx::array> decode_npy(std::uint64_t file_size, const ReadBytes& read) {
  REPRISE_ASSIGN(const NpyHeader header, read_npy_header(file_size, read));
  return catch_exceptions(ErrorCode::limit, "hold the elements", [&] { return read_elements(header, read); });
}

Result<mx::array> decode_npy(std::span<const std::byte> file) {
  const std::size_t size = file.size();
  return decode_npy(size, [&](std::span<std::byte> into) -> Status {
    if (into.size() > file.size()) return Error(ErrorCode::internal, "read past the end of a npy file");
    if (!into.empty()) std::memcpy(into.data(), file.data(), into.size());
    file = file.subspan(into.size());
    return {};
  });
}

Result<mx::array> read_npy(const std::string& path) {
  Result<RegularFile> file = RegularFile::open(path);
  if (!file) return file.error().with_context(path);
  Result<mx::array> array = decode_npy(file->size(), [&](std::span<std::byte> into) { return file->read(into); });
  if (!array) return array.error().with_context(path);
  return array;
}

Result<EncodedNpy> encode_npy(const mx::array& array) {
  return catch_exceptions(ErrorCode::runtime, "evaluate the array", [&]() -> Result<EncodedNpy> {
    EncodedNpy result{.header = {}, .data = {}, .array = array, .converted = {}};
    result.array.eval();
    NpyHeader header{.shape = Shape(array.shape().begin(), array.shape().end())};
    header.dtype = static_cast<DType>(array.dtype().val());
    const void* from = result.array.data<void>();
    if (array.flags().row_contiguous) {
      result.data = std::span(static_cast<const std::byte*>(from), npy_data_size(header));
    } else {
      const std::size_t size = npy_data_size(header);
      result.converted = std::make_unique<std::byte[]>(size);
      const std::vector<std::int64_t> strides(array.strides().begin(), array.strides().end());
      copy_row_major(size_of(header.dtype), from, header.shape, strides, result.converted.get());
      result.data = std::span(result.converted.get(), size);
    }
    if (header.dtype == DType::bfloat16) {
      header.dtype = DType::float32;
      const std::size_t size = npy_data_size(header);
      auto widened = std::make_unique<std::byte[]>(size);
      for (std::size_t i = 0; i < size / 4; ++i) {
        // A bfloat16 is the upper half of a float32.
        std::memcpy(&widened[4 * i + 2], &result.data[2 * i], 2);
      }
      result.converted = std::move(widened);
      result.data = std::span(result.converted.get(), size);
    }
    result.header = encode_npy_header(header);
    return result;
  });
}

Status write_npy(const std::string& path, const mx::array& array) {
  Result<EncodedNpy> encoded = encode_npy(array);
  if (!encoded) return encoded.error().with_context(path);
  REPRISE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  REPRISE_RETURN_IF_ERROR(file.write(encoded->header));
  REPRISE_RETURN_IF_ERROR(file.write(encoded->data));
  return file.commit();
}

}  // namespace reprise
