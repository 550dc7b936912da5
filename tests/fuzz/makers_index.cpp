#include <algorithm>

#include "fuzz/makers.hpp"

namespace reprise::fuzz {
namespace {

using ops::Ints;
using ops::OpDef;

std::optional<Draft> make_take(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1, .max_rank = 3, .also = [](const TensorType& t) {
                             return std::count(t.shape.begin(), t.shape.end(), 0) == 0;
                           }});
  const std::int64_t axis = g.axis(x.type.rank());
  const std::int64_t n = x.type.shape[static_cast<std::size_t>(axis < 0 ? axis + x.type.rank() : axis)];
  const Operand indices = g.like({g.dtype(ops::kIntegers), g.shape(0, 2)}, {.purpose = Purpose::index, .bound = n});
  return Draft{{x, indices}, {{"axis", axis}}};
}

std::optional<Draft> make_take_along_axis(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1, .max_rank = 3, .also = [](const TensorType& t) {
                             return std::count(t.shape.begin(), t.shape.end(), 0) == 0;
                           }});
  const std::int64_t axis = g.axis(x.type.rank());
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + x.type.rank() : axis);
  Shape shape = x.type.shape;
  for (auto& n : shape) {
    if (g.random().percent(20)) n = n == 1 ? g.random().between(1, 3) : 1;
  }
  shape[at] = g.dim();
  if (!g.fits(shape)) shape[at] = g.random().between(1, 3);
  const Operand indices =
      g.like({g.dtype(ops::kIntegers), shape}, {.purpose = Purpose::index, .bound = x.type.shape[at]});
  return Draft{{x, indices}, {{"axis", axis}}};
}

struct Indexed {
  Operand x, indices;
  Ints axes;
  Shape batch;
  std::vector<bool> is_indexed;
};

std::optional<Indexed> indexed(Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({.min_rank = 1, .max_rank = 3});
  const int rank = x.type.rank();
  Ints axes = g.axes(rank, [&](std::size_t a) { return x.type.shape[a] > 0; });
  if (axes.empty()) {
    for (int a = 0; a < rank && axes.empty(); ++a) {
      if (x.type.shape[static_cast<std::size_t>(a)] > 0) axes.push_back(a);
    }
  }
  if (axes.empty()) return {};
  std::vector<bool> is_indexed(static_cast<std::size_t>(rank), false);
  std::int64_t bound = 1;
  for (const auto a : axes) {
    const auto at = static_cast<std::size_t>(a < 0 ? a + rank : a);
    is_indexed[at] = true;
    bound = std::max(bound, r.coin() ? x.type.shape[at] : 0);
  }
  Shape batch;
  for (auto n = r.below(3); n > 0; --n) batch.push_back(r.percent(5) ? 0 : r.between(1, 5));
  Shape shape = batch;
  shape.push_back(static_cast<std::int64_t>(axes.size()));
  const Operand indices = g.like({g.dtype(ops::kIntegers), shape}, {.purpose = Purpose::index, .bound = bound});
  return Indexed{x, indices, axes, batch, is_indexed};
}

// The same number of elements: without ones, or everything in a row.
Shape reshaped(Generator& g, const Shape& shape) {
  Shape out;
  for (const auto n : shape) {
    if (n != 1) out.push_back(n);
  }
  if (g.random().percent(20)) return {element_count(shape).value()};
  return g.random().percent(70) ? out : shape;
}

std::optional<Draft> make_gather(const OpDef&, Generator& g) {
  const auto in = indexed(g);
  if (!in) return {};
  Ints sizes;
  for (std::size_t a = 0; a < in->is_indexed.size(); ++a) {
    const std::int64_t n = in->x.type.shape[a];
    sizes.push_back(in->is_indexed[a] ? 1 : g.random().percent(75) ? n : g.random().between(0, n));
  }
  Shape raw = in->batch;
  raw.insert(raw.end(), sizes.begin(), sizes.end());
  return Draft{{in->x, in->indices}, {{"axes", in->axes}, {"slice_sizes", sizes}, {"shape", Ints(reshaped(g, raw))}}};
}

std::optional<Draft> make_scatter(const OpDef&, Generator& g) {
  const auto in = indexed(g);
  if (!in) return {};
  Shape shape = in->batch;
  for (std::size_t a = 0; a < in->is_indexed.size(); ++a) {
    const std::int64_t n = in->x.type.shape[a];
    shape.push_back(in->is_indexed[a] ? 1 : g.random().percent(80) ? n : g.random().between(0, n));
  }
  const DType d = g.random().percent(75) ? in->x.type.dtype : g.dtype(ops::kReals);
  const Operand updates = g.like({d, reshaped(g, shape)});
  return Draft{{in->x, in->indices, updates}, {{"axes", in->axes}, {"updates_shape", Ints(shape)}}};
}

constexpr Maker kMakers[] = {
    {"take", make_take},           {"take_along_axis", make_take_along_axis},
    {"gather", make_gather},       {"indexed_add", make_scatter},
    {"indexed_put", make_scatter},
};

}  // namespace

std::span<const Maker> index_makers() { return kMakers; }

}  // namespace reprise::fuzz
