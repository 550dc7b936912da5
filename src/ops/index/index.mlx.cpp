#include "ops/index/index.mlx.hpp"

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {
namespace {

// Whether an index is one of an axis of `size` elements, counted from the front or from the end.
array in_range(const array& indices, std::int64_t size, mx::Stream stream) {
  if (indices.dtype() == mx::uint64) return mx::less(indices, scalar(static_cast<double>(size), mx::uint64), stream);
  // The bounds need not be values of the index's own dtype.
  const Term i{mx::astype(indices, mx::int64, stream), stream};
  return (i >= -size) & (i < size);
}

// The indices, (batch..., columns), with the batch axes made one. Those outside are held at the nearest place.
Places read_places(const LowerContext& context, const ops::Ints& axes) {
  const mx::Stream stream = context.stream;
  const auto m = static_cast<mx::ShapeElem>(axes.size());
  const auto n = static_cast<mx::ShapeElem>(context[1].size() / axes.size());
  const array indices = mx::reshape(context[1], {n, m}, stream);
  Places places{to_axes(axes, context[0].ndim()), {}, scalar(1, mx::bool_)};
  for (mx::ShapeElem j = 0; j < m; ++j) {
    const std::int64_t size = context[0].shape(places.axes[static_cast<std::size_t>(j)]);
    const array column = mx::reshape(mx::slice(indices, {0, j}, {n, j + 1}, stream), {n}, stream);
    const array inside = in_range(column, size, stream);
    places.inside = j == 0 ? inside : mx::logical_and(places.inside, inside, stream);
    places.columns.push_back(clamp_indices(column, size, stream));
  }
  return places;
}

// The updates as one block for each place, in the dtype of x.
array read_updates(const LowerContext& context, const ops::ScatterAttrs& attrs) {
  const std::size_t batch = attrs.updates_shape.size() - context[0].ndim();
  mx::Shape shape{static_cast<mx::ShapeElem>(context[1].size() / attrs.axes.size())};
  for (std::size_t i = batch; i < attrs.updates_shape.size(); ++i) {
    shape.push_back(static_cast<mx::ShapeElem>(attrs.updates_shape[i]));
  }
  return convert(mx::reshape(context[2], std::move(shape), context.stream), context[0].dtype(), context.stream);
}

array numbers(int n, mx::Stream stream) { return mx::arange(0, n, 1, stream); }

// One truth value for each place, brought to the rank of the updates.
array for_blocks(const array& truth, const array& updates, mx::Stream stream) {
  mx::Shape shape(updates.ndim(), 1);
  shape[0] = updates.shape(0);
  return mx::reshape(truth, std::move(shape), stream);
}

mx::Shape block_shape(const array& updates) { return {updates.shape().begin() + 1, updates.shape().end()}; }

// True for the last of the places that are the same one. Whatever order MLX writes in, the greatest number wins.
array is_last(const array& x, const Places& places, mx::Stream stream) {
  const int n = places.columns[0].shape(0);
  const int rank = static_cast<int>(places.axes.size());
  mx::Shape shape;
  std::vector<int> axes;
  for (int j = 0; j < rank; ++j) {
    shape.push_back(x.shape(places.axes[static_cast<std::size_t>(j)]));
    axes.push_back(j);
  }
  const array none = scalar(-1, mx::int32);
  const array number = numbers(n, stream);
  mx::Shape single(static_cast<std::size_t>(rank) + 1, 1);
  single[0] = n;
  const array votes = mx::reshape(mx::where(places.inside, number, none, stream), single, stream);
  const array winners = mx::scatter_max(mx::full(shape, none, mx::int32, stream), places.columns, votes, axes, stream);
  const array winner = mx::gather(winners, places.columns, axes, mx::Shape(static_cast<std::size_t>(rank), 1), stream);
  return mx::logical_and(places.inside, mx::equal(mx::reshape(winner, {n}, stream), number, stream), stream);
}

// 64-bit elements as pairs of 32-bit ones along a new last axis.
array as_words(const array& x, mx::Stream stream) {
  return mx::view(mx::expand_dims(x, -1, stream), mx::uint32, stream);
}

// 64-bit integers where MLX does not scatter them: in the order of the places, what a place gets is a difference of
// running sums, which wrap and so are exact.
array add_by_running_sums(const array& x, const Places& places, const array& updates, mx::Stream stream) {
  const int n = updates.shape(0);
  Term place{places.columns[0], stream};
  place = place.astype(mx::int64);
  for (std::size_t j = 1; j < places.axes.size(); ++j) {
    place = place * static_cast<std::int64_t>(x.shape(places.axes[j])) +
            Term(mx::astype(places.columns[j], mx::int64, stream), stream);
  }
  const array order = mx::argsort(place, 0, stream);
  const array sorted_place = mx::take(place, order, 0, stream);
  const array sorted = mx::take(updates, order, 0, stream);
  const array sums = mx::cumsum(sorted, 0, false, true, std::nullopt, stream);

  const array number = numbers(n, stream);
  const array change =
      mx::not_equal(mx::slice(sorted_place, {1}, {n}, stream), mx::slice(sorted_place, {0}, {n - 1}, stream), stream);
  const array edge = mx::full({1}, scalar(1, mx::bool_), mx::bool_, stream);
  const array starts = mx::concatenate({edge, change}, 0, stream);
  const array ends = mx::concatenate({change, edge}, 0, stream);
  const array start = mx::cummax(mx::where(starts, number, scalar(0, mx::int32), stream), 0, false, true, stream);
  const array end = mx::cummin(mx::where(ends, number, scalar(n - 1, mx::int32), stream), 0, true, true, stream);
  const array before = mx::subtract(mx::take(sums, start, 0, stream), mx::take(sorted, start, 0, stream), stream);
  const array total = mx::subtract(mx::take(sums, end, 0, stream), before, stream);

  Places sorted_places{places.axes, {}, mx::full({n}, scalar(1, mx::bool_), mx::bool_, stream)};
  for (const array& column : places.columns) sorted_places.columns.push_back(mx::take(column, order, 0, stream));
  const array present = mx::gather(x, sorted_places.columns, places.axes, block_shape(updates), stream);
  // The same value from each of the places that are the same one.
  return put_blocks(x, sorted_places, mx::add(present, total, stream), false, stream);
}

}  // namespace

array lower_gather(const LowerContext& context, const ops::GatherAttrs& attrs) {
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  const Places places = read_places(context, attrs.axes);
  const mx::Shape block(attrs.slice_sizes.begin(), attrs.slice_sizes.end());
  const array blocks = mx::gather(context[0], places.columns, places.axes, block, context.stream);
  return mx::reshape(blocks, context.shape(), context.stream);
}

array add_blocks(const array& x, const Places& places, const array& updates, bool in_order, mx::Stream stream) {
  const mx::Dtype dtype = x.dtype();
  // What changes nothing where it is added, not even the sign of a zero.
  const array nothing = dtype == mx::complex64
                            ? scalar_of(Constant::of(std::complex<double>(-0.0, -0.0), DType::complex64))
                            : scalar(is_floating(from_mlx(dtype)) ? -0.0 : 0.0, dtype);
  const array kept = mx::where(for_blocks(places.inside, updates, stream), updates, nothing, stream);
  if (dtype == mx::bool_) {
    const array sum = mx::scatter_max(mx::astype(x, mx::uint8, stream), places.columns,
                                      mx::astype(kept, mx::uint8, stream), places.axes, stream);
    return mx::astype(sum, mx::bool_, stream);
  }
  if (!in_order && is_integer(from_mlx(dtype)) && dtype.size() == 8) {
    return add_by_running_sums(x, places, kept, stream);
  }
  // A place that occurs often would lose what is below half a unit of its sum, a bfloat16 count stop at 256.
  const mx::Dtype sum_dtype = is_half(dtype) ? mx::float32 : dtype;
  const array sum = mx::scatter_add(mx::astype(x, sum_dtype, stream), places.columns,
                                    mx::astype(kept, sum_dtype, stream), places.axes, stream);
  return mx::astype(sum, dtype, stream);
}

array put_blocks(const array& x, const Places& places, const array& updates, bool in_order, mx::Stream stream) {
  if (!in_order && x.dtype().size() == 8) {
    const array words = put_blocks(as_words(x, stream), places, as_words(updates, stream), false, stream);
    return mx::reshape(mx::view(words, x.dtype(), stream), x.shape(), stream);
  }
  const array keep = in_order ? places.inside : is_last(x, places, stream);
  // What is not kept repeats the last block that is: written once more, it changes nothing. Without any, all write
  // what x has at the start of its axes.
  const array none = scalar(-1, mx::int32);
  const array last = mx::max(mx::where(keep, numbers(updates.shape(0), stream), none, stream), stream);
  const array any = mx::greater_equal(last, scalar(0, mx::int32), stream);
  const array stand_in = mx::maximum(last, scalar(0, mx::int32), stream);
  const auto chosen = [&](const array& truth, const array& values, const array& other) {
    const array repeated = mx::where(any, mx::take(values, stand_in, 0, stream), other, stream);
    return mx::where(truth, values, repeated, stream);
  };
  std::vector<array> columns;
  for (const array& column : places.columns) columns.push_back(chosen(keep, column, scalar(0, mx::int32)));
  const array unchanged = mx::slice(x, mx::Shape(x.ndim(), 0), block_shape(updates), stream);
  const array blocks = chosen(for_blocks(keep, updates, stream), updates, unchanged);
  return mx::scatter(x, columns, blocks, places.axes, stream);
}

array lower_indexed_add(const LowerContext& context, const ops::ScatterAttrs& attrs) {
  if (context[0].size() == 0 || context[2].size() == 0) return context[0];
  return add_blocks(context[0], read_places(context, attrs.axes), read_updates(context, attrs), on_cpu(context),
                    context.stream);
}

array lower_indexed_put(const LowerContext& context, const ops::ScatterAttrs& attrs) {
  if (context[0].size() == 0 || context[2].size() == 0) return context[0];
  return put_blocks(context[0], read_places(context, attrs.axes), read_updates(context, attrs), on_cpu(context),
                    context.stream);
}

}  // namespace reprise::mlx_backend
