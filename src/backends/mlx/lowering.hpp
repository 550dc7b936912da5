// How a row becomes MLX operations. Each family has <family>.mlx.hpp with its lowerings and <family>.mlx.cpp with the
// functions; backends/mlx/lowerings.cpp joins them and checks at compile time that every row has exactly one.
//
//   array lower_sum(const LowerContext& context, const ReduceAttrs& attrs) {
//     return mx::sum(context[0], to_ints(attrs.axes), attrs.keep_axes, context.stream);
//   }
//   inline constexpr std::array kReduceLowerings{lowering<ReduceAttrs, lower_sum>("sum")};
//
// Operands are placeholders while a tape is recorded: a lowering must not evaluate or read them. It passes the stream
// to every MLX operation, since the default one belongs to whatever thread runs.
#pragma once

#include <mlx/mlx.h>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/op_def.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::mlx_backend {

namespace mx = mlx::core;
using mx::array;

/// A condition that a run must not go on with.
struct Check {
  array failed;  ///< bool, one element
  std::string message;
};

struct LowerContext {
  const ops::OpDef& op;
  std::span<const array> operands;
  std::span<const TensorType> results;  ///< as inferred; what the lowering returns must have these types
  mx::Stream stream;
  std::vector<Check>* checks = nullptr;  ///< null: nobody asks

  /// A run ends with ErrorCode::runtime and `message` when `failed`, which is computed together with the results, turns
  /// out true. This is how an op refuses values: what throws while MLX evaluates spoils the stream for others.
  void check(array failed, std::string message) const {
    if (checks) checks->push_back({std::move(failed), std::move(message)});
  }

  const array& operator[](std::size_t i) const { return operands[i]; }
  std::size_t size() const { return operands.size(); }
  /// Type of result i in MLX's terms.
  mx::Dtype dtype(std::size_t i = 0) const { return to_mlx(results[i].dtype); }
  mx::Shape shape(std::size_t i = 0) const { return to_mlx(results[i].shape); }
};

using LowerFn = std::vector<array> (*)(const LowerContext&, const void* attrs);

struct Lowering {
  std::string_view name;
  const void* attrs_type = nullptr;
  LowerFn lower = nullptr;
};

namespace detail {
inline std::vector<array> as_list(array one) { return {std::move(one)}; }
inline std::vector<array> as_list(std::vector<array> many) { return many; }
}  // namespace detail

/// A lowering of an op whose attributes are an `Attrs`.
template <typename Attrs, auto Lower>
constexpr Lowering lowering(std::string_view name) {
  return {name, ops::type_tag<Attrs>(), [](const LowerContext& context, const void* attrs) {
            return detail::as_list(Lower(context, *static_cast<const Attrs*>(attrs)));
          }};
}

/// A lowering of an op without attributes.
template <auto Lower>
constexpr Lowering lowering(std::string_view name) {
  return {name, nullptr, [](const LowerContext& context, const void*) { return detail::as_list(Lower(context)); }};
}

/// A scalar of a dtype, already evaluated: usable on any thread and shared by all replays. The value is converted as
/// Constant says: integers saturate.
array scalar(double value, mx::Dtype dtype);
array scalar_of(const Constant& constant);

/// Real and imaginary parts, float32 of equal shape, to complex64. Infinities and NaN stay in their part.
array make_complex(const array& real, const array& imag, mx::Stream stream);

/// Axes that count from the end are turned; values were checked by inference.
std::vector<int> to_axes(const ops::Ints& axes, std::size_t rank);
int to_axis(std::int64_t axis, std::size_t rank);
std::vector<int> to_ints(const ops::Ints& values);

/// Integer indices into an axis of `size` elements, brought to int32 in [0, size): negative ones count from the end,
/// then clamping. Narrow and 64-bit dtypes are safe.
array clamp_indices(const array& indices, std::int64_t size, mx::Stream stream);

/// The lowering of a row; never null.
const Lowering& lowering_of(const ops::OpDef& op);

}  // namespace reprise::mlx_backend
