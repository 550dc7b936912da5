// Reductions and running reductions over one axis of a dense (outer, size, inner) array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

enum class ReduceKind : std::uint8_t { sum, product, max, min, all, any };

/// Results depend neither on the number of threads nor on the instruction set: a row's terms are added in 64 lanes, in
/// chunks of a fixed size, and the chunks in their order, in double for 16- and 32-bit floats.
struct ReduceKernel {
  /// Rows [begin, end) of (outer, size) to one element each; inner is 1.
  void (*rows)(const void* x, void* out, std::int64_t size, std::int64_t begin, std::int64_t end) = nullptr;
  /// Partial result of elements [begin, end) of one row, kept in 8 bytes.
  void (*partial)(const void* x, void* partial, std::int64_t begin, std::int64_t end) = nullptr;
  /// Joins `count` partial results, 8 bytes apart, into one element.
  void (*join)(const void* partials, void* out, std::int64_t count) = nullptr;
  /// Columns [begin, end) of (size, inner), elements of one matrix.
  void (*columns)(const void* x, void* out, std::int64_t size, std::int64_t inner, std::int64_t begin,
                  std::int64_t end) = nullptr;
};

inline constexpr std::int64_t kReduceChunk = 16384;

/// Null functions when there is none for the dtype (complex64).
ReduceKernel reduce_kernel(ReduceKind kind, DType dtype);

/// (outer, size, inner) -> (outer, inner). `scratch` holds 8 bytes for each chunk of a row when outer * inner is 1.
void reduce(const ReduceKernel& kernel, const std::byte* x, std::byte* out, std::int64_t outer, std::int64_t size,
            std::int64_t inner, std::size_t in_bytes, std::size_t out_bytes, std::byte* scratch, int threads);

/// Position of the first extremum, the first NaN before all others, as uint32.
using ArgReduceFn = void (*)(const void* x, std::uint32_t* out, std::int64_t size, std::int64_t inner,
                             std::int64_t begin, std::int64_t end);
struct ArgReduceKernel {
  ArgReduceFn rows = nullptr;     ///< rows [begin, end) of (outer, size)
  ArgReduceFn columns = nullptr;  ///< columns [begin, end) of one (size, inner)
};
ArgReduceKernel arg_reduce_kernel(bool greatest, DType dtype);

enum class ScanKind : std::uint8_t { sum, product, max, min };

struct ScanKernel {
  /// Rows [begin, end) of (outer, size).
  void (*rows)(const void* x, void* out, std::int64_t size, bool reverse, std::int64_t begin,
               std::int64_t end) = nullptr;
  /// Columns [begin, end) of one (size, inner).
  void (*columns)(const void* x, void* out, std::int64_t size, std::int64_t inner, bool reverse, std::int64_t begin,
                  std::int64_t end) = nullptr;
};
/// Null functions when there is none. `out` is what cumulative_sum gives for `in`.
ScanKernel scan_kernel(ScanKind kind, DType in, DType out);

}  // namespace reprise::native
