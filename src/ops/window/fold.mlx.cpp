#include "ops/window/fold.mlx.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace reprise::mlx_backend {
namespace {

// Of a positive divisor.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

std::int64_t reach(const WindowAxis& w) { return (w.size - 1) * w.dilation + 1; }

std::int64_t padded_length(const WindowAxis& w) { return (w.count - 1) * w.stride + reach(w); }

array sliced(const array& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step, mx::Stream stream) {
  mx::Shape from(x.ndim(), 0);
  mx::Shape to = x.shape();
  mx::Shape steps(x.ndim(), 1);
  const auto a = static_cast<std::size_t>(axis);
  from[a] = static_cast<mx::ShapeElem>(start);
  to[a] = static_cast<mx::ShapeElem>(stop);
  // MLX adds a step to a 32-bit length.
  steps[a] = static_cast<mx::ShapeElem>(std::min(step, std::max<std::int64_t>(stop - start, 1)));
  return mx::slice(x, std::move(from), std::move(to), std::move(steps), stream);
}

array padded(const array& x, int axis, std::int64_t low, std::int64_t high, const array& value, mx::Stream stream) {
  if (low == 0 && high == 0) return x;
  return mx::pad(x, {axis}, {static_cast<mx::ShapeElem>(low)}, {static_cast<mx::ShapeElem>(high)}, value, "constant",
                 stream);
}

template <typename F>
FoldState each(const FoldState& state, F f) {
  FoldState out;
  for (std::size_t i = 0; i < state.size(); ++i) out.push_back(f(state[i], i));
  return out;
}

// The windows, as a range, that reach x at all: the others may be many and far away.
struct Reached {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Reached reached(const WindowAxis& w, std::int64_t length) {
  const std::int64_t first = std::max<std::int64_t>(0, ceil_div(w.low - (reach(w) - 1), w.stride));
  const std::int64_t end = std::min(w.count, (w.low + length - 1) / w.stride + 1);
  return {first, std::max<std::int64_t>(0, end - first)};
}

// Leaves off the ends of the windows that are padding in all of them.
void trim(WindowAxis& w, std::int64_t length) {
  const std::int64_t first = std::max<std::int64_t>(0, ceil_div(w.low - (w.count - 1) * w.stride, w.dilation));
  const std::int64_t end = std::min(w.size, (length - 1 + w.low) / w.dilation + 1);
  w.low -= first * w.dilation;
  w.size = end - first;
}

// `whole` elements, `low` of them before x. Both may also say that some of x is left off.
FoldState stretch(const FoldState& x, const Fold& fold, int axis, std::int64_t low, std::int64_t whole,
                  mx::Stream stream) {
  const std::int64_t length = x[0].shape(axis);
  const std::int64_t start = std::clamp<std::int64_t>(-low, 0, length);
  const std::int64_t stop = std::clamp<std::int64_t>(whole - low, start, length);
  const std::int64_t before = std::max<std::int64_t>(low, 0);
  return each(x, [&](const array& part, std::size_t i) {
    return padded(sliced(part, axis, start, stop, 1, stream), axis, before, whole - before - (stop - start),
                  fold.outside[i], stream);
  });
}

// The state of 2^j elements from each place on, from that of half as many, and of these as many as the size has.
FoldState fold_by_doubling(const FoldState& x, const Fold& fold, int axis, const WindowAxis& w, mx::Stream stream) {
  FoldState level = stretch(x, fold, axis, w.low, padded_length(w), stream);

  // The greatest power of two below the size, then the powers that make up the rest.
  const auto top = std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(w.size - 1, 1)));
  const std::uint64_t rest = static_cast<std::uint64_t>(w.size) - top;
  std::vector<FoldState> levels;  // those that are parts of the rest, the smallest first
  for (std::uint64_t m = 1;; m *= 2) {
    if (rest & m) levels.push_back(level);
    if (m == top) break;
    const auto shift = static_cast<std::int64_t>(m) * w.dilation;
    const std::int64_t left = level[0].shape(axis) - shift;
    const auto part = [&](std::int64_t from) {
      return each(level, [&](const array& a, std::size_t) { return sliced(a, axis, from, from + left, 1, stream); });
    };
    level = fold.join(part(0), part(shift));
  }
  const auto windows = [&](const FoldState& state, std::uint64_t offset) {
    const std::int64_t from = static_cast<std::int64_t>(offset) * w.dilation;
    return each(state, [&](const array& a, std::size_t) {
      return sliced(a, axis, from, from + (w.count - 1) * w.stride + 1, w.stride, stream);
    });
  };
  FoldState out = windows(level, 0);
  std::uint64_t offset = top;
  for (std::uint64_t m = top; m != 0; m /= 2) {
    if ((rest & m) == 0) continue;
    out = fold.join(out, windows(levels.back(), offset));
    levels.pop_back();
    offset += m;
  }
  return out;
}

// Elements of each window that are told apart: all padding before x is one, so is all after. A power of two.
std::int64_t distinct(const WindowAxis& w, std::int64_t length) {
  const std::int64_t most = std::min(w.size, (length - 1) / w.dilation + 3);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
}

// The elements of each window beside each other, then halved until one is left.
FoldState fold_by_copies(const FoldState& x, const Fold& fold, int axis, const WindowAxis& w, mx::Stream stream) {
  const std::int64_t length = x[0].shape(axis);
  const std::int64_t width = distinct(w, length);
  std::vector<std::int32_t> places;  // in x with one element of padding at either end
  for (std::int64_t o = 0; o < w.count; ++o) {
    const std::int64_t first = std::max<std::int64_t>(0, ceil_div(w.low - o * w.stride, w.dilation) - 1);
    for (std::int64_t k = first; k < first + width; ++k) {
      // Beyond the window its last element once more, unless padding is the safer choice.
      const std::int64_t place = o * w.stride + std::min(k, w.size - 1) * w.dilation - w.low;
      const bool beyond = k >= w.size && fold.neutral;
      places.push_back(static_cast<std::int32_t>(beyond ? 0 : std::clamp<std::int64_t>(place, -1, length) + 1));
    }
  }
  const array indices(places.begin(), {static_cast<mx::ShapeElem>(w.count), static_cast<mx::ShapeElem>(width)},
                      mx::int32);
  FoldState state = each(x, [&](const array& part, std::size_t i) {
    return mx::take(padded(part, axis, 1, 1, fold.outside[i], stream), indices, axis, stream);
  });
  for (std::int64_t n = width; n > 1; n /= 2) {
    const auto half = [&](std::int64_t from) {
      return each(state,
                  [&](const array& a, std::size_t) { return sliced(a, axis + 1, from, n - 1 + from, 2, stream); });
    };
    state = fold.join(half(0), half(1));
  }
  return each(state, [&](const array& a, std::size_t) { return mx::squeeze(a, axis + 1, stream); });
}

// Windows that do not overlap, as rows of a matrix.
FoldState fold_tiles(const FoldState& x, const Fold& fold, int axis, const WindowAxis& w, mx::Stream stream) {
  const FoldState tiles =
      each(stretch(x, fold, axis, w.low, w.count * w.stride, stream), [&](const array& part, std::size_t) {
        mx::Shape shape = part.shape();
        shape[static_cast<std::size_t>(axis)] = static_cast<mx::ShapeElem>(w.count);
        shape.insert(shape.begin() + axis + 1, static_cast<mx::ShapeElem>(w.stride));
        return sliced(mx::reshape(part, std::move(shape), stream), axis + 1, 0, reach(w), w.dilation, stream);
      });
  return fold.reduce(tiles, axis + 1);
}

FoldState fold_axis(const FoldState& x, const Fold& fold, int axis, const WindowAxis& w, mx::Stream stream) {
  const std::int64_t length = x[0].shape(axis);
  if (w.size == 1 && w.low == 0 && w.stride == 1 && w.count == length) return x;
  if (fold.reduce && w.size > 8 && (w.count == 1 || w.stride >= reach(w))) {
    WindowAxis tiled = w;
    if (w.count == 1) tiled.stride = reach(w);
    if (tiled.count * tiled.stride <= 2 * (length + reach(w))) return fold_tiles(x, fold, axis, tiled, stream);
  }
  // Work in elements along the axis. A size of two or three with a small stride is the usual one, and doubling with
  // few steps; windows that overlap little, or that are mostly padding, are copied.
  const double doubling = static_cast<double>(padded_length(w)) * std::bit_width(static_cast<std::uint64_t>(w.size));
  const double copies = 3.0 * static_cast<double>(w.count) * static_cast<double>(distinct(w, length));
  const bool fits = padded_length(w) <= std::numeric_limits<mx::ShapeElem>::max();
  return fits && doubling <= copies ? fold_by_doubling(x, fold, axis, w, stream)
                                    : fold_by_copies(x, fold, axis, w, stream);
}

}  // namespace

FoldState fold_windows(FoldState x, const Fold& fold, const std::vector<WindowAxis>& axes, mx::Stream stream) {
  // From the last axis on: of the stretches that are joined, one is earlier than the other in row-major order.
  for (int axis = static_cast<int>(axes.size()) - 1; axis >= 0; --axis) {
    const WindowAxis& all = axes[static_cast<std::size_t>(axis)];
    const std::int64_t length = x[0].shape(axis);
    const Reached some = reached(all, length);
    WindowAxis w = all;
    w.low -= some.first * w.stride;
    w.count = some.count;
    if (fold.neutral && w.count > 0) trim(w, length);
    if (w.count > 0 && w.size > 0) {
      x = fold_axis(x, fold, axis, w, stream);
      x = each(x, [&](const array& part, std::size_t i) {
        return padded(part, axis, some.first, all.count - some.first - some.count, fold.outside[i], stream);
      });
    } else {
      mx::Shape shape = x[0].shape();
      shape[static_cast<std::size_t>(axis)] = static_cast<mx::ShapeElem>(all.count);
      x = each(
          x, [&](const array& part, std::size_t i) { return mx::full(shape, fold.outside[i], part.dtype(), stream); });
    }
  }
  return x;
}

}  // namespace reprise::mlx_backend
