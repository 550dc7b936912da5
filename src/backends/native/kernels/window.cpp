#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/window.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/native/kernels/arithmetic.inl.hpp"
#include "backends/native/kernels/half.hpp"
#include "backends/native/kernels/window.hpp"
#include "backends/native/threads.hpp"

// How a result is cut into units. Where windows leave enough elements in the innermost axes, a unit is up to kBlock of
// those of one window. Else it is a stretch of windows along the last axis.
#ifndef REPRISE_WINDOW_UNITS
#define REPRISE_WINDOW_UNITS
namespace reprise::native {
namespace {

constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kFewInner = 16;

bool by_rows(const WindowShape& shape) { return shape.inner < kFewInner && !shape.axes.empty(); }

std::int64_t reach(const WindowAxis& axis) { return (axis.window - 1) * axis.dilation + 1; }
/// Windows along the last axis in one unit: their elements fit in the first-level cache if they can, and are several
/// times more than two stretches share.
std::int64_t windows_of_unit(const WindowShape& shape) {
  const std::int64_t elements = std::max(2048 / shape.inner, 4 * reach(shape.axes.back()));
  return std::max<std::int64_t>(1, elements / shape.axes.back().stride);
}
/// Units of one window, or of one row of windows.
std::int64_t units_of_one(const WindowShape& shape) {
  if (!by_rows(shape)) return (shape.inner + kBlock - 1) / kBlock;
  const std::int64_t each = windows_of_unit(shape);
  return (shape.axes.back().count + each - 1) / each;
}

/// The k of a window, [first, last), that lie within the axis.
struct Span {
  std::int64_t first, last;
};
Span inside(const WindowAxis& axis, std::int64_t window) {
  const std::int64_t start = window * axis.stride - axis.low;  // of k = 0
  const std::int64_t first = start >= 0 ? 0 : (-start + axis.dilation - 1) / axis.dilation;
  const std::int64_t last = start >= axis.size ? 0 : (axis.size - 1 - start) / axis.dilation + 1;
  return {std::min(first, axis.window), std::min(last, axis.window)};
}

/// Where the elements of a window lie over the first `rank` axes, in row-major order; `step` is the distance along the
/// last of them.
void find_taps(const WindowShape& shape, std::size_t rank, std::int64_t step, std::int64_t window,
               std::vector<std::int64_t>& offsets) {
  offsets.assign(1, 0);
  for (std::size_t a = rank; a-- > 0;) {
    const WindowAxis& axis = shape.axes[a];
    const std::int64_t o = window % axis.count;
    window /= axis.count;
    const Span span = inside(axis, o);
    const std::int64_t first = (o * axis.stride - axis.low) * step;
    const std::int64_t apart = axis.dilation * step;
    // The outer axis goes in front of those that are there.
    const std::size_t inner = offsets.size();
    const auto times = static_cast<std::size_t>(std::max<std::int64_t>(0, span.last - span.first));
    offsets.resize(inner * times);
    for (std::size_t k = times; k-- > 0;) {
      const std::int64_t shift = first + (span.first + static_cast<std::int64_t>(k)) * apart;
      for (std::size_t i = 0; i < inner; ++i) offsets[k * inner + i] = offsets[i] + shift;
    }
    if (offsets.empty()) return;
    step *= axis.size;
  }
}

}  // namespace
}  // namespace reprise::native
#endif

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As Op::join, without a branch.
template <typename Op, typename T>
HWY_INLINE T joined(T a, T b) {
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Max>) {
    return (static_cast<int>(b > a) | static_cast<int>(b != b)) != 0 ? b : a;
  } else if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Min>) {
    return (static_cast<int>(b < a) | static_cast<int>(b != b)) != 0 ? b : a;
  } else {
    return Op::template join<T>(a, b);
  }
}

#if HWY_TARGET != HWY_SCALAR
template <typename Op, class V>
HWY_INLINE V joined_vectors(V a, V b) {
  if constexpr (std::is_same_v<Op, Sum>) return hn::Add(a, b);
  if constexpr (std::is_same_v<Op, Product>) return hn::Mul(a, b);
  if constexpr (std::is_same_v<Op, Max>) return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  if constexpr (std::is_same_v<Op, Min>) return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
}
#endif

/// In: elements of x. Acc: what is carried. Out: elements of the result.
template <typename Op, typename In, typename Acc, typename Out>
struct Window {
  static constexpr std::int64_t kLanes = 256 / sizeof(Acc);  // four of the widest vectors

  static Acc element(In x) { return static_cast<Acc>(load(x)); }

  template <std::int64_t kCount>
  static void fold_block(const In* HWY_RESTRICT x, const std::vector<std::int64_t>& offsets, Out* HWY_RESTRICT out) {
    Acc lanes[kCount];
    for (std::int64_t j = 0; j < kCount; ++j) lanes[j] = Op::template identity<Acc>();
    for (const std::int64_t offset : offsets) {
      const In* HWY_RESTRICT from = x + offset;
      for (std::int64_t j = 0; j < kCount; ++j) lanes[j] = joined<Op, Acc>(lanes[j], element(from[j]));
    }
    for (std::int64_t j = 0; j < kCount; ++j) out[j] = store<Out>(lanes[j]);
  }

#if HWY_TARGET != HWY_SCALAR
  // Float32, whole vectors of what one window leaves; gives the number of elements.
  static std::int64_t fold_vectors(const float* HWY_RESTRICT x, const std::vector<std::int64_t>& offsets,
                                   float* HWY_RESTRICT out, std::int64_t n) {
    const hn::ScalableTag<float> d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    const auto start = hn::Set(d, Op::template identity<float>());
    std::int64_t j = 0;
    for (; j + 4 * width <= n; j += 4 * width) {
      auto v0 = start, v1 = start, v2 = start, v3 = start;
      for (const std::int64_t offset : offsets) {
        const float* from = x + offset + j;
        v0 = joined_vectors<Op>(v0, hn::LoadU(d, from));
        v1 = joined_vectors<Op>(v1, hn::LoadU(d, from + width));
        v2 = joined_vectors<Op>(v2, hn::LoadU(d, from + 2 * width));
        v3 = joined_vectors<Op>(v3, hn::LoadU(d, from + 3 * width));
      }
      hn::StoreU(v0, d, out + j);
      hn::StoreU(v1, d, out + j + width);
      hn::StoreU(v2, d, out + j + 2 * width);
      hn::StoreU(v3, d, out + j + 3 * width);
    }
    for (; j + width <= n; j += width) {
      auto v = start;
      for (const std::int64_t offset : offsets) v = joined_vectors<Op>(v, hn::LoadU(d, x + offset + j));
      hn::StoreU(v, d, out + j);
    }
    return j;
  }
#endif

  // One window, elements [0, n) of those it leaves.
  static void fold(const In* x, const std::vector<std::int64_t>& offsets, Out* out, std::int64_t n) {
    std::int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (std::is_same_v<In, float>) j = fold_vectors(x, offsets, out, n);
#endif
    for (; j + kLanes <= n; j += kLanes) fold_block<kLanes>(x + j, offsets, out + j);
    for (; j + kLanes / 4 <= n; j += kLanes / 4) fold_block<kLanes / 4>(x + j, offsets, out + j);
    for (; j < n; ++j) fold_block<1>(x + j, offsets, out + j);
  }

  // run[i] over `window` elements of it, `apart` from each other, in place; afterwards n - (window - 1) * apart are
  // right. Few are joined one by one; for many, runs are doubled.
  static void slide(Acc* HWY_RESTRICT run, std::int64_t n, std::int64_t window, std::int64_t apart,
                    std::vector<Acc>& buffer) {
    if (window == 1) return;
    const std::int64_t valid = n - (window - 1) * apart;
    if (buffer.size() < static_cast<std::size_t>(valid)) buffer.resize(static_cast<std::size_t>(valid));
    Acc* HWY_RESTRICT out = buffer.data();
    if (window <= 8) {
      std::copy_n(run, valid, out);
      for (std::int64_t k = 1; k < window; ++k) {
        const Acc* HWY_RESTRICT from = run + k * apart;
        for (std::int64_t i = 0; i < valid; ++i) out[i] = joined<Op, Acc>(out[i], from[i]);
      }
    } else {
      std::int64_t done = 0;  // elements that out has
      for (std::int64_t length = 1;; length *= 2) {
        // run[i] has `length` elements.
        if ((window & length) != 0) {
          const Acc* HWY_RESTRICT from = run + done * apart;
          if (done == 0) {
            std::copy_n(from, valid, out);
          } else {
            for (std::int64_t i = 0; i < valid; ++i) out[i] = joined<Op, Acc>(out[i], from[i]);
          }
          done += length;
        }
        if (done == window) break;
        const std::int64_t twice = n - (2 * length - 1) * apart;
        const std::int64_t shift = length * apart;
        // Forward, reading ahead of what is written.
#pragma GCC ivdep
        for (std::int64_t i = 0; i < twice; ++i) run[i] = joined<Op, Acc>(run[i], run[i + shift]);
      }
    }
    std::copy_n(out, valid, run);
  }

  // All elements of a stretch, in lanes.
  static Acc total(const Acc* HWY_RESTRICT x, std::int64_t n) {
    Acc lanes[kLanes];
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = Op::template identity<Acc>();
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = joined<Op, Acc>(lanes[j], x[i + j]);
    }
    for (std::int64_t j = 0; i + j < n; ++j) lanes[j] = joined<Op, Acc>(lanes[j], x[i + j]);
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t j = 0; j < width; ++j) lanes[j] = joined<Op, Acc>(lanes[j], lanes[j + width]);
    }
    return lanes[0];
  }

  template <std::int64_t kStride>
  static void pick(const Acc* HWY_RESTRICT from, std::int64_t count, Out* HWY_RESTRICT out) {
    for (std::int64_t o = 0; o < count; ++o) out[o] = store<Out>(from[o * kStride]);
  }

  // `count` windows along the last axis, of which `row` has the elements, the other axes already folded.
  static void fold_row(const WindowAxis& axis, std::int64_t count, std::int64_t inner, std::vector<Acc>& row,
                       std::vector<Acc>& buffer, Out* HWY_RESTRICT out) {
    const std::int64_t n = static_cast<std::int64_t>(row.size());
    Acc* HWY_RESTRICT x = row.data();
    const std::int64_t apart = axis.dilation * inner;
    if (inner == 1 && axis.dilation == 1 && axis.window >= kLanes && axis.stride * 8 >= axis.window) {
      for (std::int64_t o = 0; o < count; ++o) out[o] = store<Out>(total(x + o * axis.stride, axis.window));
      return;
    }
    if (axis.stride <= 4 || axis.stride * 4 <= axis.window) {
      slide(x, n, axis.window, apart, buffer);
      if (axis.stride == 1) return pick<1>(x, count * inner, out);
      if (axis.stride == 2 && inner == 1) return pick<2>(x, count, out);
      for (std::int64_t o = 0; o < count; ++o) {
        for (std::int64_t j = 0; j < inner; ++j) out[o * inner + j] = store<Out>(x[o * axis.stride * inner + j]);
      }
      return;
    }
    for (std::int64_t o = 0; o < count; ++o) {
      for (std::int64_t j = 0; j < inner; ++j) {
        const Acc* from = x + o * axis.stride * inner + j;
        Acc sum = from[0];
        for (std::int64_t k = 1; k < axis.window; ++k) sum = joined<Op, Acc>(sum, from[k * apart]);
        out[o * inner + j] = store<Out>(sum);
      }
    }
  }

  static void run(const WindowShape& shape, const void* from, void* to, std::int64_t begin, std::int64_t end) {
    thread_local std::vector<std::int64_t> offsets;
    thread_local std::vector<Acc> row, buffer;
    const In* x = static_cast<const In*>(from);
    Out* out = static_cast<Out*>(to);
    const std::int64_t parts = units_of_one(shape);
    std::int64_t found = -1;  // what `offsets` are those of
    if (!by_rows(shape)) {
      for (std::int64_t u = begin; u < end; ++u) {
        const std::int64_t window = u / parts, first = (u % parts) * kBlock;
        if (window != found) find_taps(shape, shape.axes.size(), shape.inner, window, offsets);
        found = window;
        fold(x + first, offsets, out + window * shape.inner + first, std::min(kBlock, shape.inner - first));
      }
      return;
    }
    const WindowAxis& axis = shape.axes.back();
    const std::int64_t inner = shape.inner, each = windows_of_unit(shape);
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t r = u / parts, first = (u % parts) * each;
      const std::int64_t count = std::min(each, axis.count - first);
      if (r != found) find_taps(shape, shape.axes.size() - 1, axis.size * inner, r, offsets);
      found = r;
      const std::int64_t start = first * axis.stride - axis.low;  // of the stretch, in the axis
      const std::int64_t length = (count - 1) * axis.stride + reach(axis);
      row.assign(static_cast<std::size_t>(length * inner), Op::template identity<Acc>());
      const std::int64_t there = std::max<std::int64_t>(0, start);
      const std::int64_t n = (std::min(axis.size, start + length) - there) * inner;
      Acc* HWY_RESTRICT within = row.data() + (there - start) * inner;
      for (const std::int64_t offset : offsets) {
        const In* HWY_RESTRICT add = x + offset + there * inner;
        for (std::int64_t i = 0; i < n; ++i) within[i] = joined<Op, Acc>(within[i], element(add[i]));
      }
      fold_row(axis, count, inner, row, buffer, out + (r * axis.count + first) * inner);
    }
  }
};

template <typename Op, typename T>
WindowFn arithmetic() {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return Window<Op, T, float, T>::run;
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
    return Window<Op, T, Wide, Wide>::run;
  } else {
    return Window<Op, T, T, T>::run;
  }
}

WindowFn find_window(WindowKind kind, DType dtype) {
  return with_type(dtype, [&](auto zero) -> WindowFn {
    using T = decltype(zero);
    switch (kind) {
      case WindowKind::sum: return arithmetic<Sum, T>();
      case WindowKind::product: return arithmetic<Product, T>();
      case WindowKind::max: return Window<Max, T, Loaded<T>, T>::run;
      case WindowKind::min: return Window<Min, T, Loaded<T>, T>::run;
    }
    return nullptr;
  });
}

/// V: what elements are compared and added in.
template <typename T, bool kGreatest>
struct WindowScatter {
  using V = Loaded<T>;
  static constexpr std::int64_t kLanes = 64;

  static bool is_nan(V v) { return v != v; }

  // Elements [0, n), n <= kLanes, of those that one window leaves. `offsets` names all elements of the window in order,
  // kOutside for padding.
  static void scatter(const T* HWY_RESTRICT x, const T* HWY_RESTRICT source, V init, V* sums,
                      const std::vector<std::int64_t>& offsets, std::int64_t n) {
    V best[kLanes];
    std::int32_t chosen[kLanes];
    const auto candidate = [&](std::size_t t, std::int64_t j) {
      return offsets[t] == kOutside ? init : load(x[offsets[t] + j]);
    };
    for (std::int64_t j = 0; j < n; ++j) {
      best[j] = candidate(0, j);
      chosen[j] = 0;
    }
    for (std::size_t t = 1; t < offsets.size(); ++t) {
      for (std::int64_t j = 0; j < n; ++j) {
        const V v = candidate(t, j);
        bool better;
        if constexpr (kGreatest) {
          better = v > best[j] || (is_nan(v) && !is_nan(best[j]));
          chosen[j] = better ? static_cast<std::int32_t>(t) : chosen[j];
        } else {
          // A NaN stays the best, and the first element is chosen from then on.
          better = v <= best[j] || is_nan(v);
          chosen[j] = better ? (is_nan(v) ? 0 : static_cast<std::int32_t>(t)) : chosen[j];
        }
        best[j] = better ? v : best[j];
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {
      // The least: a NaN that came first is the first element already.
      const std::int64_t at = offsets[static_cast<std::size_t>(chosen[j])];
      if (at != kOutside) sums[at + j] = wrapping_add(sums[at + j], static_cast<V>(load(source[j])));
    }
  }

  static constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();

  // As find_taps, with those in the padding.
  static void find_all(const WindowShape& shape, std::int64_t window, std::vector<std::int64_t>& offsets) {
    offsets.assign(1, 0);
    std::int64_t step = shape.inner;
    for (std::size_t a = shape.axes.size(); a-- > 0;) {
      const WindowAxis& axis = shape.axes[a];
      const std::int64_t first = window % axis.count * axis.stride - axis.low;
      window /= axis.count;
      const std::size_t inner = offsets.size();
      offsets.resize(inner * static_cast<std::size_t>(axis.window));
      for (std::int64_t k = axis.window; k-- > 0;) {
        const std::int64_t at = first + k * axis.dilation;
        for (std::size_t i = 0; i < inner; ++i) {
          const bool out = at < 0 || at >= axis.size || offsets[i] == kOutside;
          offsets[static_cast<std::size_t>(k) * inner + i] = out ? kOutside : offsets[i] + at * step;
        }
      }
      step *= axis.size;
    }
  }

  static void run(const WindowShape& shape, const void* from, const void* added, const void* start, void* to,
                  std::int64_t begin, std::int64_t end) {
    thread_local std::vector<std::int64_t> offsets;
    const T* x = static_cast<const T*>(from);
    const T* source = static_cast<const T*>(added);
    V* sums = static_cast<V*>(to);
    const V init = load(*static_cast<const T*>(start));
    std::int64_t rows = 1;
    for (const WindowAxis& axis : shape.axes) rows *= axis.size;
    for (std::int64_t r = 0; r < rows; ++r)
      std::fill(sums + r * shape.inner + begin, sums + r * shape.inner + end, init);
    const std::int64_t windows = shape.outputs() / shape.inner;
    for (std::int64_t w = 0; w < windows; ++w) {
      find_all(shape, w, offsets);
      for (std::int64_t j = begin; j < end; j += kLanes) {
        scatter(x + j, source + w * shape.inner + j, init, sums + j, offsets, std::min(kLanes, end - j));
      }
    }
  }
};

WindowScatterFn find_scatter(bool greatest, DType dtype) {
  return with_type(dtype, [&](auto zero) -> WindowScatterFn {
    using T = decltype(zero);
    return greatest ? WindowScatter<T, true>::run : WindowScatter<T, false>::run;
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(find_window);
HWY_EXPORT(find_scatter);

}  // namespace

std::int64_t WindowShape::taps() const {
  std::int64_t n = 1;
  for (const WindowAxis& axis : axes) n *= axis.window;
  return n;
}

std::int64_t WindowShape::outputs() const {
  std::int64_t n = inner;
  for (const WindowAxis& axis : axes) n *= axis.count;
  return n;
}

WindowFn window_kernel(WindowKind kind, DType dtype) {
  return dtype == DType::bool_ ? nullptr : HWY_DYNAMIC_DISPATCH(find_window)(kind, dtype);
}

WindowScatterFn window_scatter_kernel(bool greatest, DType dtype) {
  return dtype == DType::bool_ ? nullptr : HWY_DYNAMIC_DISPATCH(find_scatter)(greatest, dtype);
}

double window_cost(const WindowShape& shape) {
  double cost = static_cast<double>(shape.inner);
  for (std::size_t a = 0; a < shape.axes.size(); ++a) {
    const WindowAxis& axis = shape.axes[a];
    if (a + 1 == shape.axes.size() && by_rows(shape)) {
      const double runs = std::bit_width(static_cast<std::uint64_t>(axis.window));
      cost *= static_cast<double>(axis.low + axis.size + axis.high) * (1 + runs);
    } else {
      cost *= static_cast<double>(axis.count) * static_cast<double>(axis.window);
    }
  }
  return cost;
}

void window(WindowFn kernel, const WindowShape& shape, const std::byte* x, std::byte* out, int threads) {
  std::int64_t units = units_of_one(shape);
  for (std::size_t a = 0; a + (by_rows(shape) ? 1 : 0) < shape.axes.size(); ++a) units *= shape.axes[a].count;
  const double each = window_cost(shape) / static_cast<double>(units);
  const auto grain = static_cast<std::int64_t>(static_cast<double>(kParallelGrain) / std::max(1.0, each));
  parallel_for(threads, units, std::max<std::int64_t>(1, grain),
               [&](std::int64_t begin, std::int64_t end) { kernel(shape, x, out, begin, end); });
}

}  // namespace reprise::native
#endif
