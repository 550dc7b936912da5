#include "random_inputs.hpp"

#include <mlx/mlx.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "base/format.hpp"
#include "inputs.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::cli {
namespace {

namespace mx = mlx::core;

template <typename T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// The integers that a dtype holds, as 64 bits of either sign.
template <typename T>
std::optional<Range> range_of(std::string_view low, std::string_view high, T least, T most) {
  const auto a = whole<T>(low);
  const auto b = whole<T>(high);
  if (!a || !b || *a < least || *b > most || *a > *b) return std::nullopt;
  return Range{*a, *b};
}

std::optional<Range> parse_range(std::string_view low, std::string_view high, DType dtype) {
  const auto bits = static_cast<int>(8 * size_of(dtype));
  switch (kind(dtype)) {
    case DTypeKind::boolean: return range_of<std::uint64_t>(low, high, 0, 1);
    case DTypeKind::unsigned_integer:
      return range_of<std::uint64_t>(low, high, 0, std::numeric_limits<std::uint64_t>::max() >> (64 - bits));
    case DTypeKind::signed_integer: {
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
      return range_of<std::int64_t>(low, high, -most - 1, most);
    }
    case DTypeKind::floating:
    case DTypeKind::complex: {
      const auto a = whole<double>(low);
      const auto b = whole<double>(high);
      if (!a || !b || !std::isfinite(*a) || !std::isfinite(*b) || !std::isfinite(*b - *a) || *a > *b) {
        return std::nullopt;
      }
      return Range{*a, *b};
    }
  }
  return std::nullopt;
}

std::string_view wanted_range(DType dtype) {
  switch (kind(dtype)) {
    case DTypeKind::boolean: return "0..1, 0..0 or 1..1";
    case DTypeKind::unsigned_integer:
    case DTypeKind::signed_integer: return "LOW..HIGH, whole numbers that the dtype holds, LOW no more than HIGH";
    case DTypeKind::floating:
    case DTypeKind::complex: return "LOW..HIGH, finite numbers, LOW no more than HIGH";
  }
  return "";
}

// The standard fixes what this generator gives, but not what its distributions do; so they stand here.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : bits_(seed) {}

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

  /// Uniform in [0, most].
  std::uint64_t below_or_at(std::uint64_t most) {
    if (most == std::numeric_limits<std::uint64_t>::max()) return bits_();
    const std::uint64_t count = most + 1;
    const std::uint64_t usable = std::numeric_limits<std::uint64_t>::max() / count * count;
    std::uint64_t drawn = bits_();
    while (drawn >= usable) drawn = bits_();
    return drawn % count;
  }

 private:
  std::mt19937_64 bits_;
};

Range default_range(DType dtype) {
  if (dtype == DType::bool_) return {std::uint64_t{0}, std::uint64_t{1}};
  if (kind(dtype) == DTypeKind::unsigned_integer) return {std::uint64_t{0}, std::uint64_t{100}};
  return {std::int64_t{-100}, std::int64_t{100}};
}

template <typename T>
void fill_integers(T* to, std::size_t count, const Range& range, Numbers& numbers) {
  const auto bits = [](const auto& end) {
    return std::holds_alternative<std::int64_t>(end) ? static_cast<std::uint64_t>(std::get<std::int64_t>(end))
                                                     : std::get<std::uint64_t>(end);
  };
  const std::uint64_t low = bits(range.low);
  const std::uint64_t width = bits(range.high) - low;
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(low + numbers.below_or_at(width));
}

template <typename T>
void fill_reals(T* to, std::size_t count, const std::optional<Range>& range, Numbers& numbers) {
  const double low = range ? std::get<double>(range->low) : 0;
  const double width = range ? std::get<double>(range->high) - low : 0;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(static_cast<float>(range ? low + width * numbers.unit() : numbers.normal()));
  }
}

void fill(mx::array& array, DType dtype, const std::optional<Range>& range, Numbers& numbers) {
  const std::size_t n = array.size();
  const auto integers = [&](auto* to) { fill_integers(to, n, range.value_or(default_range(dtype)), numbers); };
  switch (dtype) {
    case DType::bool_: return integers(array.data<bool>());
    case DType::uint8: return integers(array.data<std::uint8_t>());
    case DType::uint16: return integers(array.data<std::uint16_t>());
    case DType::uint32: return integers(array.data<std::uint32_t>());
    case DType::uint64: return integers(array.data<std::uint64_t>());
    case DType::int8: return integers(array.data<std::int8_t>());
    case DType::int16: return integers(array.data<std::int16_t>());
    case DType::int32: return integers(array.data<std::int32_t>());
    case DType::int64: return integers(array.data<std::int64_t>());
    case DType::float16: return fill_reals(array.data<mx::float16_t>(), n, range, numbers);
    case DType::bfloat16: return fill_reals(array.data<mx::bfloat16_t>(), n, range, numbers);
    case DType::float32: return fill_reals(array.data<float>(), n, range, numbers);
    case DType::float64: return fill_reals(array.data<double>(), n, range, numbers);
    // Pairs of floats lie there.
    case DType::complex64: return fill_reals(array.data<float>(), 2 * n, range, numbers);
  }
}

}  // namespace

Result<InputSpec> parse_input(const std::string& text) {
  if (text.ends_with(".npy") || text.ends_with(".npz")) return InputSpec{text, std::nullopt, std::nullopt};
  const std::size_t equals = text.find('=');
  auto type = parse_type(std::string_view(text).substr(0, equals));
  if (!type) {
    return make_error(ErrorCode::invalid_argument,
                      "input '{}': wanted a type such as f32[2, 3] or s32[8]=0..9, or a .npy or .npz file", text);
  }
  InputSpec spec{text, std::move(type), std::nullopt};
  if (equals == std::string::npos) return spec;
  const std::string_view range = std::string_view(text).substr(equals + 1);
  const std::size_t dots = range.find("..");
  if (dots != std::string_view::npos) {
    spec.range = parse_range(range.substr(0, dots), range.substr(dots + 2), spec.type->dtype);
  }
  if (!spec.range) {
    return make_error(ErrorCode::invalid_argument, "input '{}': the range is '{}'; wanted {}", text, range,
                      wanted_range(spec.type->dtype));
  }
  return spec;
}

Result<mx::array> random_array(const InputSpec& spec, std::uint64_t seed) {
  try {
    const auto count = static_cast<std::size_t>(element_count(spec.type->shape).value_or(0));
    mx::allocator::Data memory = mx::allocator::malloc(std::max<std::size_t>(count * size_of(spec.type->dtype), 1));
    if (!memory.buffer().raw_ptr()) {
      return make_error(ErrorCode::limit, "input '{}': no memory for {} elements", spec.text, count);
    }
    mx::array array(std::move(memory), to_mlx(spec.type->shape), to_mlx(spec.type->dtype));
    Numbers numbers(seed);
    fill(array, spec.type->dtype, spec.range, numbers);
    return array;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::limit, "input '{}': cannot be made: {}", spec.text, e.what());
  }
}

}  // namespace reprise::cli
