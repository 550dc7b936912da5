// Windows against plain loops: random shapes around the widths of vectors, special values, any number of threads.
#include "backends/native/kernels/window.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "backends/native/isa.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

class Windows : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit().ok()); }

  std::int64_t any(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  WindowShape shape(bool dilated) {
    WindowShape out;
    const std::int64_t inners[] = {1, 1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 1030};
    out.inner = inners[any(0, std::size(inners) - 1)];
    const std::int64_t rank = any(1, 3);
    for (std::int64_t a = 0; a < rank; ++a) {
      WindowAxis axis;
      do {
        axis.size = any(1, a + 1 == rank && out.inner < 16 ? 300 : 9);
        axis.low = any(0, 1) * any(0, 5);
        axis.high = any(0, 1) * any(0, 5);
        axis.stride = any(1, 6);
        axis.window = any(0, 3) == 0 ? any(1, 80) : any(1, 4);
        axis.dilation = dilated ? any(1, 3) : 1;
        const std::int64_t room = axis.low + axis.size + axis.high - (axis.window - 1) * axis.dilation - 1;
        axis.count = room < 0 ? 0 : room / axis.stride + 1;
      } while (axis.count == 0);
      out.axes.push_back(axis);
    }
    return out;
  }

  template <typename T>
  std::vector<T> numbers(std::int64_t n, bool special) {
    std::vector<T> out(static_cast<std::size_t>(n));
    for (T& v : out) {
      if constexpr (std::is_floating_point_v<T>) {
        const T corners[] = {T(NAN), T(INFINITY), T(-INFINITY), T(-0.0)};
        v = special && any(0, 20) == 0 ? corners[any(0, 3)] : static_cast<T>(any(-40, 40)) / 16;
      } else {
        v = static_cast<T>(any(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      }
    }
    return out;
  }

  std::mt19937 random_{7};
};

std::int64_t elements(const WindowShape& shape) {
  std::int64_t n = shape.inner;
  for (const WindowAxis& axis : shape.axes) n *= axis.size;
  return n;
}

std::string describe(const WindowShape& s) {
  std::string out = fmt::format("inner {}", s.inner);
  for (const auto& a : s.axes) {
    out += fmt::format("; {} + {} + {} window {} stride {} dilation {}", a.low, a.size, a.high, a.window, a.stride,
                       a.dilation);
  }
  return out;
}

/// Calls f(position in x, or -1 in padding) for each element of a window, in order.
template <typename F>
void each_tap(const WindowShape& shape, std::int64_t window, std::int64_t j, const F& f) {
  std::vector<std::int64_t> o(shape.axes.size());
  for (std::size_t a = o.size(); a-- > 0; window /= shape.axes[a].count) o[a] = window % shape.axes[a].count;
  for (std::int64_t tap = 0; tap < shape.taps(); ++tap) {
    std::int64_t rest = tap, at = 0, step = shape.inner;
    bool inside = true;
    for (std::size_t a = o.size(); a-- > 0;) {
      const WindowAxis& axis = shape.axes[a];
      const std::int64_t i = o[a] * axis.stride + rest % axis.window * axis.dilation - axis.low;
      rest /= axis.window;
      inside = inside && i >= 0 && i < axis.size;
      at += i * step;
      step *= axis.size;
    }
    f(inside ? at + j : -1);
  }
}

template <typename T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

template <typename T, typename Out>
void check(WindowKind kind, DType dtype, const WindowShape& shape, const std::vector<T>& x) {
  const WindowFn kernel = window_kernel(kind, dtype);
  ASSERT_NE(kernel, nullptr);
  const auto n = static_cast<std::size_t>(shape.outputs());
  std::vector<Out> out(n), again(n);
  window(kernel, shape, reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<std::byte*>(out.data()), 1);
  for (const int threads : {2, 8}) {
    window(kernel, shape, reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<std::byte*>(again.data()),
           threads);
    ASSERT_EQ(std::memcmp(out.data(), again.data(), n * sizeof(Out)), 0) << describe(shape);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto w = static_cast<std::int64_t>(i) / shape.inner, j = static_cast<std::int64_t>(i) % shape.inner;
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    Wide sum = 0, size = 0, product = 1;
    Out extremum = std::is_floating_point_v<T> ? static_cast<Out>(kind == WindowKind::max ? -INFINITY : INFINITY)
                   : kind == WindowKind::max   ? std::numeric_limits<Out>::lowest()
                                               : std::numeric_limits<Out>::max();
    each_tap(shape, w, j, [&](std::int64_t at) {
      if (at < 0) return;
      const T v = x[static_cast<std::size_t>(at)];
      sum += static_cast<Wide>(v);
      if constexpr (std::is_floating_point_v<T>) size += std::fabs(static_cast<double>(v));
      product *= static_cast<Wide>(v);
      const auto e = static_cast<Out>(v);
      if (v != v || (kind == WindowKind::max ? e > extremum : e < extremum)) extremum = e;
    });
    const std::string where = fmt::format("kind {}, element {} of {}", static_cast<int>(kind), i, describe(shape));
    if (kind == WindowKind::max || kind == WindowKind::min) {
      ASSERT_TRUE(same(out[i], extremum)) << where << ": " << +out[i] << ", wanted " << +extremum;
    } else if constexpr (std::is_floating_point_v<T>) {
      const double wanted = kind == WindowKind::sum ? sum : product;
      const double scale = kind == WindowKind::sum ? size : std::fabs(product);
      if (!std::isfinite(wanted)) {
        ASSERT_FALSE(std::isfinite(out[i])) << where;
        continue;
      }
      if (scale > 1e30 || (scale < 1e-30 && scale > 0)) continue;  // near what float32 holds
      const double epsilon = std::numeric_limits<Out>::epsilon();
      ASSERT_NEAR(static_cast<double>(out[i]), wanted, 64 * epsilon * scale) << where;
    } else {
      ASSERT_EQ(out[i], static_cast<Out>(kind == WindowKind::sum ? sum : product)) << where;
    }
  }
}

constexpr WindowKind kKinds[] = {WindowKind::sum, WindowKind::product, WindowKind::max, WindowKind::min};

TEST_F(Windows, Floats) {
  for (int i = 0; i < 60; ++i) {
    const WindowShape s = shape(true);
    for (const WindowKind kind : kKinds) {
      check<float, float>(kind, DType::float32, s, numbers<float>(elements(s), i % 2 == 1));
      check<double, double>(kind, DType::float64, s, numbers<double>(elements(s), i % 2 == 1));
    }
  }
}

TEST_F(Windows, Integers) {
  for (int i = 0; i < 40; ++i) {
    const WindowShape s = shape(true);
    for (const WindowKind kind : {WindowKind::sum, WindowKind::product}) {
      check<std::int8_t, std::int32_t>(kind, DType::int8, s, numbers<std::int8_t>(elements(s), false));
      check<std::uint16_t, std::uint32_t>(kind, DType::uint16, s, numbers<std::uint16_t>(elements(s), false));
      check<std::int32_t, std::int32_t>(kind, DType::int32, s, numbers<std::int32_t>(elements(s), false));
    }
    for (const WindowKind kind : {WindowKind::max, WindowKind::min}) {
      check<std::int8_t, std::int8_t>(kind, DType::int8, s, numbers<std::int8_t>(elements(s), false));
      check<std::uint32_t, std::uint32_t>(kind, DType::uint32, s, numbers<std::uint32_t>(elements(s), false));
    }
  }
}

// Each window's choice is unique to its rank in the order that is specified, and sums are of small whole numbers:
// exact.
template <typename T>
void check_scatter(bool greatest, DType dtype, const WindowShape& shape, const std::vector<T>& x,
                   const std::vector<T>& source, T init) {
  const WindowScatterFn kernel = window_scatter_kernel(greatest, dtype);
  ASSERT_NE(kernel, nullptr);
  std::vector<T> out(x.size()), wanted(x.size(), init);
  // In two parts, as two threads would.
  const std::int64_t half = shape.inner / 2;
  kernel(shape, x.data(), source.data(), &init, out.data(), 0, half);
  kernel(shape, x.data(), source.data(), &init, out.data(), half, shape.inner);
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::int64_t chosen = -1, first = -1, tap = 0;
    T best{};
    bool has_nan = false;
    each_tap(shape, static_cast<std::int64_t>(i) / shape.inner, static_cast<std::int64_t>(i) % shape.inner,
             [&](std::int64_t at) {
               const T v = at < 0 ? init : x[static_cast<std::size_t>(at)];
               const bool nan = v != v;
               const bool better = greatest ? (nan ? best == best : v > best) : v <= best;
               if (tap == 0) first = at;
               if (tap == 0 || (better && !(best != best && tap > 0))) {
                 chosen = at;
                 best = v;
               }
               has_nan = has_nan || nan;
               ++tap;
             });
    if (!greatest && has_nan) chosen = first;
    if (chosen >= 0) wanted[static_cast<std::size_t>(chosen)] += source[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(same(out[i], wanted[i])) << i << " of " << describe(shape);
}

TEST_F(Windows, Scatter) {
  for (int i = 0; i < 80; ++i) {
    const WindowShape s = shape(false);
    for (const bool greatest : {true, false}) {
      std::vector<float> x(static_cast<std::size_t>(elements(s))), source(static_cast<std::size_t>(s.outputs()));
      for (float& v : x) v = i % 3 == 0 && any(0, 30) == 0 ? NAN : static_cast<float>(any(-3, 3));
      for (float& v : source) v = static_cast<float>(any(-8, 8));
      check_scatter<float>(greatest, DType::float32, s, x, source, static_cast<float>(any(-1, 1)));
      std::vector<std::int32_t> xi(x.size()), si(source.size());
      for (auto& v : xi) v = static_cast<std::int32_t>(any(-3, 3));
      for (auto& v : si) v = static_cast<std::int32_t>(any(-8, 8));
      check_scatter<std::int32_t>(greatest, DType::int32, s, xi, si, static_cast<std::int32_t>(any(-1, 1)));
    }
  }
}

}  // namespace
}  // namespace reprise::native
