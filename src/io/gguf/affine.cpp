#include "io/gguf/affine.hpp"

#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "io/gguf/cursor.hpp"
#include "io/gguf/half.hpp"
#include "mlx/allocator.h"

namespace reprise::gguf {
namespace {

namespace mx = mlx::core;

constexpr int kGroup = 32;  // elements of a block in all three formats

mx::Dtype mlx_dtype(DType dtype) {
  return mx::Dtype(static_cast<mx::Dtype::Val>(dtype), static_cast<std::uint8_t>(size_of(dtype)));
}

/// An evaluated array with memory of its own, not yet filled.
mx::array make_array(mx::Shape shape, DType dtype) {
  std::size_t bytes = size_of(dtype);
  for (const auto d : shape) bytes *= static_cast<std::size_t>(d);
  mx::allocator::Data memory = mx::allocator::malloc(bytes);
  if (memory.buffer().raw_ptr() == nullptr) throw std::bad_alloc();
  return mx::array(std::move(memory), std::move(shape), mlx_dtype(dtype));
}

Result<mx::Shape> mlx_shape(const Tensor& tensor) {
  mx::Shape shape;
  for (const std::int64_t d : tensor.shape) {
    if (!std::in_range<mx::ShapeElem>(d)) {
      return make_error(ErrorCode::limit, "dimension {} is larger than MLX can count", d);
    }
    shape.push_back(static_cast<mx::ShapeElem>(d));
  }
  return shape;
}

Status check_permutation(std::span<const std::int64_t> rows, std::int64_t count) {
  if (std::cmp_not_equal(rows.size(), count)) {
    return make_error(ErrorCode::invalid_argument, "the order has {} rows, the tensor {}", rows.size(), count);
  }
  std::vector<bool> seen(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= count || seen[static_cast<std::size_t>(rows[i])]) {
      return make_error(ErrorCode::invalid_argument, "the order names row {} at {}, wanted each of {} rows once",
                        rows[i], i, count);
    }
    seen[static_cast<std::size_t>(rows[i])] = true;
  }
  return {};
}

/// Calls `use(row of the result, bytes of the row)` for each row; `use` gives a Status.
template <typename Use>
Status for_each_row(std::span<const std::byte> data, std::size_t row_bytes, std::span<const std::int64_t> rows,
                    Use use) {
  if (data.empty()) return {};  // may be any number of rows without elements
  for (std::size_t i = 0; i < data.size() / row_bytes; ++i) {
    const std::size_t from = rows.empty() ? i : static_cast<std::size_t>(rows[i]);
    REPRISE_RETURN_IF_ERROR(use(i, data.data() + from * row_bytes));
  }
  return {};
}

/// The low four bits of eight bytes, side by side.
std::uint32_t join_nibbles(std::uint64_t bytes) {
  bytes &= 0x0f0f0f0f0f0f0f0fU;
  bytes = (bytes | bytes >> 4) & 0x00ff00ff00ff00ffU;
  bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffffU;
  return static_cast<std::uint32_t>(bytes | bytes >> 16);
}

/// A 4-bit block has elements 0 to 15 in the low and 16 to 31 in the high halves of its sixteen bytes.
void unpack_nibbles(const std::byte* block, std::uint32_t* words) {
  const auto first = load<std::uint64_t>(block);
  const auto second = load<std::uint64_t>(block + 8);
  words[0] = join_nibbles(first);
  words[1] = join_nibbles(second);
  words[2] = join_nibbles(first >> 4);
  words[3] = join_nibbles(second >> 4);
}

// The three formats: how the codes of a block become words, and its scale and bias. Codes are made unsigned by adding
// half their range, which the bias takes back.
struct Q4_0 {
  static constexpr int kBits = 4;
  static constexpr std::size_t kBytes = 18;
  static void codes(const std::byte* block, std::uint32_t* words) { unpack_nibbles(block + 2, words); }
  static float scale(const std::byte* block) { return float_from_half(load<std::uint16_t>(block)); }
  static float bias(const std::byte* block) { return -8.0F * scale(block); }
};

struct Q4_1 {
  static constexpr int kBits = 4;
  static constexpr std::size_t kBytes = 20;
  static void codes(const std::byte* block, std::uint32_t* words) { unpack_nibbles(block + 4, words); }
  static float scale(const std::byte* block) { return float_from_half(load<std::uint16_t>(block)); }
  static float bias(const std::byte* block) { return float_from_half(load<std::uint16_t>(block + 2)); }
};

struct Q8_0 {
  static constexpr int kBits = 8;
  static constexpr std::size_t kBytes = 34;
  static void codes(const std::byte* block, std::uint32_t* words) {
    for (int i = 0; i < 8; ++i) words[i] = load<std::uint32_t>(block + 2 + 4 * i) ^ 0x80808080U;
  }
  static float scale(const std::byte* block) { return float_from_half(load<std::uint16_t>(block)); }
  static float bias(const std::byte* block) { return -128.0F * scale(block); }
};

// How scales and biases are stored.
struct AsFloat32 {
  using Stored = float;
  static float store(float value) { return value; }
  static bool fits(float, float) { return true; }
};

struct AsFloat16 {
  using Stored = std::uint16_t;
  static std::uint16_t store(float value) { return half_from_float(value); }
  static bool fits(float value, std::uint16_t stored) { return (stored & 0x7fffU) != 0x7c00U || std::isinf(value); }
};

struct AsBfloat16 {
  using Stored = std::uint16_t;
  static std::uint16_t store(float value) { return bfloat16_from_float(value); }
  static bool fits(float, std::uint16_t) { return true; }  // its range is that of float32
};

template <typename Format, typename Storage>
Status repack(const Tensor& tensor, std::span<const std::int64_t> rows, AffineTensor& out) {
  using Stored = typename Storage::Stored;
  const std::size_t groups = static_cast<std::size_t>(tensor.dims[0]) / kGroup;
  auto* words = out.codes.data<std::uint32_t>();
  auto* scales = static_cast<Stored*>(out.scales.buffer().raw_ptr());
  auto* biases = static_cast<Stored*>(out.biases.buffer().raw_ptr());
  return for_each_row(
      tensor.data, groups * Format::kBytes, rows, [&](std::size_t row, const std::byte* bytes) -> Status {
        for (std::size_t g = 0; g < groups; ++g) {
          const std::byte* block = bytes + g * Format::kBytes;
          const std::size_t at = row * groups + g;
          Format::codes(block, words + at * Format::kBits);
          scales[at] = Storage::store(Format::scale(block));
          const float bias = Format::bias(block);
          biases[at] = Storage::store(bias);
          if (!Storage::fits(bias, biases[at])) {
            return make_error(ErrorCode::limit, "row {} group {}: bias {} does not fit in float16", row, g, bias);
          }
        }
        return {};
      });
}

template <typename Format>
Result<AffineTensor> make_affine(const Tensor& tensor, const AffineOptions& options) {
  REPRISE_ASSIGN(mx::Shape shape, mlx_shape(tensor));
  mx::Shape group_shape = shape;
  shape.back() = shape.back() / kGroup * Format::kBits;
  group_shape.back() /= kGroup;
  AffineTensor out{make_array(shape, DType::uint32), make_array(group_shape, options.scales),
                   make_array(group_shape, options.scales), Format::kBits, kGroup};
  Status status;
  switch (options.scales) {
    case DType::float32: status = repack<Format, AsFloat32>(tensor, options.rows, out); break;
    case DType::float16: status = repack<Format, AsFloat16>(tensor, options.rows, out); break;
    default: status = repack<Format, AsBfloat16>(tensor, options.rows, out); break;
  }
  if (!status) return status.error();
  return out;
}

/// Rows of all leading axes together; the reader has checked that the product fits.
std::int64_t row_count(const Tensor& tensor) {
  if (tensor.data.empty()) return 0;
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < tensor.dims.size(); ++i) rows *= tensor.dims[i];
  return rows;
}

Result<AffineTensor> convert_affine(const Tensor& tensor, const AffineOptions& options) {
  if (options.scales != DType::float32 && options.scales != DType::float16 && options.scales != DType::bfloat16) {
    return make_error(ErrorCode::invalid_argument, "scales asked as {}, wanted float32, float16 or bfloat16",
                      reprise::name(options.scales));
  }
  if (!options.rows.empty()) REPRISE_RETURN_IF_ERROR(check_permutation(options.rows, row_count(tensor)));
  switch (tensor.type) {
    case ElementType::q4_0: return make_affine<Q4_0>(tensor, options);
    case ElementType::q4_1: return make_affine<Q4_1>(tensor, options);
    case ElementType::q8_0: return make_affine<Q8_0>(tensor, options);
    default:
      return make_error(ErrorCode::unsupported, "type {} cannot be repacked, wanted Q4_0, Q4_1 or Q8_0",
                        gguf::name(tensor.type));
  }
}

Result<mx::array> convert_plain(const Tensor& tensor, std::span<const std::int64_t> rows) {
  const TypeInfo* info = type_info(tensor.type);
  if (info == nullptr || !info->dtype) {
    return make_error(ErrorCode::unsupported, "type {} is not a plain type: wanted F32, F16, BF16, F64 or I8 to I64",
                      gguf::name(tensor.type));
  }
  REPRISE_ASSIGN(mx::Shape shape, mlx_shape(tensor));
  const bool vector = tensor.dims.size() == 1;
  if (!rows.empty()) {
    const std::int64_t count = vector ? tensor.dims[0] : row_count(tensor);
    REPRISE_RETURN_IF_ERROR(check_permutation(rows, count));
  }
  mx::array out = make_array(std::move(shape), *info->dtype);
  auto* to = static_cast<std::byte*>(out.buffer().raw_ptr());
  if (rows.empty()) {
    if (!tensor.data.empty()) std::memcpy(to, tensor.data.data(), tensor.data.size());
    return out;
  }
  const std::size_t row_bytes = (vector ? 1 : static_cast<std::size_t>(tensor.dims[0])) * info->bytes;
  REPRISE_RETURN_IF_ERROR(
      for_each_row(tensor.data, row_bytes, rows, [&](std::size_t row, const std::byte* bytes) -> Status {
        std::memcpy(to + row * row_bytes, bytes, row_bytes);
        return {};
      }));
  return out;
}

/// Runs `convert` behind the boundary that no exception passes, and says which tensor of which file failed.
template <typename Convert>
auto guarded(const File& file, const Tensor& tensor, Convert convert) -> decltype(convert()) {
  const std::string where = fmt::format("{}: tensor {}", file.path(), quote(tensor.name));
  try {
    auto result = convert();
    if (!result) return result.error().with_context(where);
    return result;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::runtime, "{}: cannot make the array: {}", where, e.what());
  }
}

}  // namespace

Result<AffineTensor> to_affine(const File& file, const Tensor& tensor, const AffineOptions& options) {
  return guarded(file, tensor, [&] { return convert_affine(tensor, options); });
}

Result<mx::array> to_array(const File& file, const Tensor& tensor, std::span<const std::int64_t> rows) {
  return guarded(file, tensor, [&] { return convert_plain(tensor, rows); });
}

}  // namespace reprise::gguf
