// Reductions over sliding windows, and scattering into the elements that they select.
#pragma once

#include <cstdint>
#include <vector>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// Window o has the elements o * stride + k * dilation - low of the axis, for k < window; those outside are padding.
struct WindowAxis {
  std::int64_t size = 1;
  std::int64_t low = 0, high = 0;
  std::int64_t stride = 1;
  std::int64_t window = 1;
  std::int64_t dilation = 1;
  std::int64_t count = 1;  ///< of windows
};

/// Dense arrays of the axes, outermost first, and then of `inner` elements that windows do not span.
struct WindowShape {
  std::vector<WindowAxis> axes;
  std::int64_t inner = 1;

  std::int64_t taps() const;     ///< elements of a window
  std::int64_t outputs() const;  ///< windows, for each of the inner elements
};

enum class WindowKind : std::uint8_t { sum, product, max, min };

/// Units [begin, end) of the result.
using WindowFn = void (*)(const WindowShape& shape, const void* x, void* out, std::int64_t begin, std::int64_t end);
/// Null when there is none for the dtype: complex64, and bool, whose least and greatest are not those of its byte.
WindowFn window_kernel(WindowKind kind, DType dtype);
/// Elements that are read, about: many more than x has where large windows overlap in axes other than the last.
double window_cost(const WindowShape& shape);
/// The same bits for any number of threads.
void window(WindowFn kernel, const WindowShape& shape, const std::byte* x, std::byte* out, int threads);

/// Slices [begin, end) of `inner`: fills `sums`, which is like x, with init, then adds each window's element of
/// `source` at the element that it selects: the first greatest, NaN being the greatest, or the last least, or the first
/// of all where there is a NaN. Padding has the value `init`. `sums` is of float32 where x is of 16-bit floats.
using WindowScatterFn = void (*)(const WindowShape& shape, const void* x, const void* source, const void* init,
                                 void* sums, std::int64_t begin, std::int64_t end);
WindowScatterFn window_scatter_kernel(bool greatest, DType dtype);

}  // namespace reprise::native
