#include "fuzz/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::fuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

int bits_of(DType d) { return static_cast<int>(size_of(d)) * 8; }
bool is_signed(DType d) { return kind(d) == DTypeKind::signed_integer; }

// The edges of a dtype, where kernels go wrong.
void append_special(Random& random, std::string& bytes, DType d) {
  if (d == DType::bool_) return append_integer(bytes, d, static_cast<std::uint64_t>(random.below(2)));
  if (is_integer(d)) {
    const std::uint64_t top = std::uint64_t{1} << (bits_of(d) - 1);
    const std::uint64_t edges[] = {top, top - 1, top + 1, ~std::uint64_t{0}, ~std::uint64_t{1}, 0, 1, 2, 31, 64};
    return append_integer(bytes, d, random.pick(edges));
  }
  static constexpr double kEdges[] = {
      kInfinity,    -kInfinity, kNaN,    0.0,    -0.0,  0.5,    -0.5,    1.5,       2.5,      -2.5,
      1e-40,        -1e-40,     6e-8,    65504,  65536, 3.4e38, -3.4e38, 1.0000001, 16777217, 2147483648.,
      -2147483649., 9.3e18,     -9.3e18, 1.9e19, 88.8,  -104,   1e-7,    300,       3.389e38, 100};
  append(bytes, d, {random.pick(kEdges), is_complex(d) ? random.pick(kEdges) : 0});
}

void append_general(Random& random, std::string& bytes, DType d) {
  if (d == DType::bool_) return append_integer(bytes, d, static_cast<std::uint64_t>(random.below(2)));
  if (is_integer(d)) {
    const auto value = is_signed(d) ? random.between(-9, 9) : random.between(0, 18);
    return append_integer(bytes, d, static_cast<std::uint64_t>(value));
  }
  // Quarters, so that sums and products stay exact whatever their order.
  const auto quarter = [&] { return static_cast<double>(random.between(-16, 16)) / 4; };
  append(bytes, d, {quarter(), is_complex(d) ? quarter() : 0});
}

// Row k, column j of a matrix of n rows.
double matrix_element(Random& random, Purpose purpose, std::int64_t k, std::int64_t j, std::int64_t n) {
  if (k == j) return static_cast<double>(n + random.between(1, 4));
  // Symmetric without remembering the other triangle.
  if (purpose == Purpose::positive) return static_cast<double>((k * j + k + j) % 3 - 1) / 2;
  return static_cast<double>(random.between(-2, 2)) / 2;
}

mx::array copied(const mx::array& x) { return mx::contiguous(x, false, mx::Device::cpu); }

}  // namespace

std::size_t element_total(const TensorType& type) {
  return static_cast<std::size_t>(element_count(type.shape).value());
}
std::size_t byte_total(const TensorType& type) { return element_total(type) * size_of(type.dtype); }

void append_integer(std::string& bytes, DType dtype, std::uint64_t bits) {
  if (dtype == DType::bool_) bits = bits != 0;
  bytes.append(reinterpret_cast<const char*>(&bits), size_of(dtype));  // little-endian, as all that MLX runs on
}

void append(std::string& bytes, DType dtype, std::complex<double> value) {
  switch (dtype) {
    case DType::float16: return put(bytes, mx::float16_t(static_cast<float>(value.real())));
    case DType::bfloat16: return put(bytes, mx::bfloat16_t(static_cast<float>(value.real())));
    case DType::float32: return put(bytes, static_cast<float>(value.real()));
    case DType::float64: return put(bytes, value.real());
    case DType::complex64:
      put(bytes, static_cast<float>(value.real()));
      return put(bytes, static_cast<float>(value.imag()));
    default: append_integer(bytes, dtype, static_cast<std::uint64_t>(static_cast<std::int64_t>(value.real())));
  }
}

ArraySpec random_array(Random& random, const TensorType& type, const Values& values) {
  ArraySpec spec{type, {}, Layout::dense};
  const std::size_t total = element_total(type);
  const std::int64_t columns = type.shape.empty() ? 1 : std::max<std::int64_t>(type.shape.back(), 1);
  const std::int64_t rows = type.rank() < 2 ? 1 : std::max<std::int64_t>(type.shape[type.shape.size() - 2], 1);
  const DType d = type.dtype;
  spec.bytes.reserve(byte_total(type));
  for (std::size_t i = 0; i < total; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    switch (values.purpose) {
      case Purpose::general:
        values.wild&& random.percent(35) ? append_special(random, spec.bytes, d)
                                         : append_general(random, spec.bytes, d);
        break;
      case Purpose::index:
        if (values.wild && random.percent(20)) {
          append_special(random, spec.bytes, d);
        } else {
          append(spec.bytes, d,
                 static_cast<double>(is_signed(d) ? random.between(-values.bound - 1, values.bound)
                                                  : random.between(0, values.bound)));
        }
        break;
      case Purpose::small: append(spec.bytes, d, static_cast<double>(random.below(values.bound))); break;
      case Purpose::positive:
      case Purpose::regular:
        append(spec.bytes, d,
               matrix_element(random, values.purpose, at / columns % rows, at % columns, std::max(rows, columns)));
        break;
      case Purpose::flags: append(spec.bytes, d, random.percent(70) ? 1.0 : 0.0); break;
      case Purpose::codes: append_integer(spec.bytes, d, random.bits()); break;
      case Purpose::exponent:
        append_integer(spec.bytes, d, static_cast<std::uint64_t>(random.between(118, 130)));
        break;
      case Purpose::magnitudes: append(spec.bytes, d, static_cast<double>(random.between(1, 16)) / 4); break;
    }
  }
  if (random.percent(50)) spec.layout = static_cast<Layout>(random.below(kLayoutCount));
  const bool matrix = values.purpose == Purpose::positive || values.purpose == Purpose::regular;
  if (total == 0 || type.shape.empty() || (matrix && type.rank() < 3)) {
    if (spec.layout == Layout::repeated || total == 0 || type.shape.empty()) spec.layout = Layout::dense;
  } else if (spec.layout == Layout::repeated) {
    const std::string row = spec.bytes.substr(0, spec.bytes.size() / static_cast<std::size_t>(type.shape[0]));
    spec.bytes.clear();
    for (std::int64_t k = 0; k < type.shape[0]; ++k) spec.bytes += row;
  }
  return spec;
}

ArraySpec filled(const TensorType& type, double value) {
  ArraySpec spec{type, {}, Layout::dense};
  for (std::size_t i = element_total(type); i > 0; --i) append(spec.bytes, type.dtype, value);
  return spec;
}

mx::array make_dense(const ArraySpec& spec) {
  mx::allocator::Data memory = mx::allocator::malloc(std::max<std::size_t>(spec.bytes.size(), 1));
  std::memcpy(memory.buffer().raw_ptr(), spec.bytes.data(), spec.bytes.size());
  return mx::array(std::move(memory), to_mlx(spec.type.shape), to_mlx(spec.type.dtype));
}

mx::array make_array(const ArraySpec& spec) {
  mx::array dense = make_dense(spec);
  const mx::Device cpu = mx::Device::cpu;
  const auto dims = static_cast<int>(dense.ndim());
  std::vector<int> backwards;
  mx::Shape first(dense.ndim(), 0), step(dense.ndim(), 1), end = dense.shape();
  mx::array out = dense;
  switch (spec.layout) {
    case Layout::dense: return dense;
    case Layout::reversed_axes: {
      for (int a = dims - 1; a >= 0; --a) backwards.push_back(a);
      mx::array stored = copied(mx::transpose(dense, backwards, cpu));
      stored.eval();
      out = mx::transpose(stored, backwards, cpu);
      break;
    }
    case Layout::backwards: {
      for (int a = 0; a < dims; ++a) {
        first[static_cast<std::size_t>(a)] = dense.shape(a) - 1;
        end[static_cast<std::size_t>(a)] = -dense.shape(a) - 1;
        step[static_cast<std::size_t>(a)] = -1;
      }
      mx::array stored = copied(mx::slice(dense, first, end, step, cpu));
      stored.eval();
      out = mx::slice(stored, first, end, step, cpu);
      break;
    }
    case Layout::every_other: {
      for (auto& n : end) n *= 2;
      for (auto& n : first) n = 1;
      for (auto& n : step) n = 2;
      mx::array stored = mx::slice_update(mx::zeros(end, dense.dtype(), cpu), dense, first, end, step, cpu);
      stored.eval();
      out = mx::slice(stored, first, end, step, cpu);
      break;
    }
    case Layout::offset: {
      mx::array stored =
          copied(mx::concatenate({mx::ones({1}, dense.dtype(), cpu), mx::reshape(dense, {-1}, cpu)}, 0, cpu));
      stored.eval();
      out = mx::reshape(mx::slice(stored, {1}, stored.shape(), cpu), dense.shape(), cpu);
      break;
    }
    case Layout::repeated: {
      if (!end.empty()) end[0] = 1;
      mx::array stored = copied(mx::slice(dense, first, end, cpu));
      stored.eval();
      out = mx::broadcast_to(stored, dense.shape(), cpu);
      break;
    }
  }
  out.eval();
  return out;
}

std::string bytes_of(const mx::array& x) {
  mx::array dense = x;
  if (!x.flags().row_contiguous) {
    dense = copied(x);
    dense.eval();
  }
  return {dense.data<char>(), dense.nbytes()};
}

ArraySpec spec_of(const mx::array& x) { return {type_of(x), bytes_of(x), Layout::dense}; }

std::vector<std::complex<double>> numbers(const TensorType& type, const std::string& bytes) {
  std::vector<std::complex<double>> out;
  const std::size_t step = size_of(type.dtype);
  out.reserve(bytes.size() / step);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto get = [&]<typename T>(T value, std::size_t skip = 0) {
      std::memcpy(&value, bytes.data() + at + skip, sizeof value);
      return static_cast<double>(value);
    };
    switch (type.dtype) {
      case DType::bool_:
      case DType::uint8: out.emplace_back(get(std::uint8_t{})); break;
      case DType::uint16: out.emplace_back(get(std::uint16_t{})); break;
      case DType::uint32: out.emplace_back(get(std::uint32_t{})); break;
      case DType::uint64: out.emplace_back(get(std::uint64_t{})); break;
      case DType::int8: out.emplace_back(get(std::int8_t{})); break;
      case DType::int16: out.emplace_back(get(std::int16_t{})); break;
      case DType::int32: out.emplace_back(get(std::int32_t{})); break;
      case DType::int64: out.emplace_back(get(std::int64_t{})); break;
      case DType::float16: out.emplace_back(static_cast<double>(get(mx::float16_t{}))); break;
      case DType::bfloat16: out.emplace_back(static_cast<double>(get(mx::bfloat16_t{}))); break;
      case DType::float32: out.emplace_back(get(float{})); break;
      case DType::float64: out.emplace_back(get(double{})); break;
      case DType::complex64: out.emplace_back(get(float{}), get(float{}, 4)); break;
    }
  }
  return out;
}

}  // namespace reprise::fuzz
