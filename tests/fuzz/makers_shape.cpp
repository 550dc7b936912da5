#include <algorithm>

#include "fuzz/makers.hpp"

namespace reprise::fuzz {
namespace {

using ops::Ints;
using ops::OpDef;

bool has_elements(const TensorType& t) { return element_count(t.shape) != 0; }

std::optional<Draft> make_bitcast(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes});
  ops::DTypeSet to = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto d = static_cast<DType>(i);
    if (d == DType::float64 && !g.options().float64) continue;
    const auto from_size = static_cast<std::int64_t>(size_of(x.type.dtype));
    const auto to_size = static_cast<std::int64_t>(size_of(d));
    const bool fits = from_size == to_size ||
                      (x.type.rank() > 0 && (to_size < from_size || x.type.shape.back() * from_size % to_size == 0));
    if (fits) to = static_cast<ops::DTypeSet>(to | ops::set_of(d));
  }
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if ((to & ops::set_of(static_cast<DType>(i))) != 0) all.push_back(static_cast<DType>(i));
  }
  return Draft{{x}, {{"dtype", g.random().pick(all)}}};
}

// Merges neighbouring axes, splits axes, puts ones in, or turns everything around.
std::optional<Draft> make_reshape(const OpDef&, Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({});
  Ints shape;
  for (const auto n : x.type.shape) {
    if (!shape.empty() && r.percent(35)) {
      shape.back() *= n;
    } else if (r.percent(30) && n % 2 == 0 && n > 0) {
      shape.push_back(2);
      shape.push_back(n / 2);
    } else {
      shape.push_back(n);
    }
    if (r.percent(10)) shape.push_back(1);
  }
  if (shape.empty() && r.coin()) shape.assign(static_cast<std::size_t>(r.between(1, 2)), 1);
  if (r.percent(30)) r.shuffle(shape);
  if (!shape.empty() && has_elements(x.type) && r.percent(25)) r.pick(shape) = -1;
  return Draft{{x}, {{"shape", shape}}};
}

std::optional<Draft> make_squeeze(const OpDef&, Generator& g) {
  Operand x = g.any({.also = [](const TensorType& t) { return std::count(t.shape.begin(), t.shape.end(), 1) > 0; }});
  return Draft{{x}, {{"axes", g.axes(x.type.rank(), [&](std::size_t a) { return x.type.shape[a] == 1; })}}};
}

std::optional<Draft> make_transpose(const OpDef&, Generator& g) {
  const Operand x = g.any({});
  Ints axes;
  for (int a = 0; a < x.type.rank(); ++a) axes.push_back(g.random().percent(15) ? a - x.type.rank() : a);
  g.random().shuffle(axes);
  return Draft{{x}, {{"axes", axes}}};
}

std::optional<Draft> make_reverse(const OpDef&, Generator& g) {
  const Operand x = g.any({});
  return Draft{{x}, {{"axes", g.axes(x.type.rank())}}};
}

std::optional<Draft> make_broadcast(const OpDef&, Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({.max_rank = 3});
  const auto rank = static_cast<std::int64_t>(x.type.rank());
  const auto out = static_cast<std::size_t>(r.between(rank, std::min<std::int64_t>(rank + 2, 4)));
  Ints places;
  for (std::size_t a = 0; a < out; ++a) places.push_back(static_cast<std::int64_t>(a));
  r.shuffle(places);
  places.resize(static_cast<std::size_t>(rank));
  if (r.percent(85)) std::sort(places.begin(), places.end());
  Ints shape;
  for (std::size_t a = 0; a < out; ++a) shape.push_back(r.percent(3) ? 0 : r.between(1, 4));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (x.type.shape[i] != 1 || r.coin()) shape[static_cast<std::size_t>(places[i])] = x.type.shape[i];
  }
  return Draft{{x}, {{"shape", shape}, {"axes", places}}};
}

std::optional<Draft> make_pad(const OpDef&, Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({.max_rank = 3});
  const Operand value = g.like({r.percent(75) ? x.type.dtype : g.dtype(ops::kReals), {}});
  Ints low, high, interior;
  for (const auto n : x.type.shape) {
    interior.push_back(r.percent(70) ? 0 : r.between(1, 2));
    const std::int64_t spread = n == 0 ? 0 : n + (n - 1) * interior.back();
    low.push_back(r.between(-std::min<std::int64_t>(spread, 2), 3));
    const std::int64_t rest = spread + std::min<std::int64_t>(low.back(), 0);
    high.push_back(r.between(-std::min<std::int64_t>(rest, 2), 3));
  }
  return Draft{{x, value}, {{"low", low}, {"high", high}, {"interior", interior}}};
}

DType mostly(Generator& g, DType d, ops::DTypeSet set = ops::kAllDTypes) {
  return g.random().percent(75) ? d : g.dtype(set);
}

std::optional<Draft> make_concatenate(const OpDef&, Generator& g) {
  Draft draft{{g.any({.min_rank = 1})}, {}};
  const TensorType first = draft.operands[0].type;
  const std::int64_t axis = g.axis(first.rank());
  for (auto n = g.random().below(3); n > 0; --n) {
    TensorType next{mostly(g, first.dtype), first.shape};
    if (g.random().coin()) next.shape[static_cast<std::size_t>(axis < 0 ? axis + first.rank() : axis)] = g.dim();
    if (!g.fits(next.shape)) next.shape = first.shape;
    draft.operands.push_back(g.like(next));
  }
  draft.attrs = {{"axis", axis}};
  return draft;
}

std::optional<Draft> make_stack(const OpDef&, Generator& g) {
  Draft draft{{g.any({.max_rank = 3})}, {}};
  const TensorType first = draft.operands[0].type;
  for (auto n = g.random().below(3); n > 0; --n) {
    draft.operands.push_back(g.like({mostly(g, first.dtype), first.shape}));
  }
  draft.attrs = {{"axis", g.axis(first.rank() + 1)}};
  return draft;
}

std::optional<Draft> make_reduce(const OpDef& op, Generator& g) {
  const bool extremum = op.name.starts_with("reduce_");
  const Operand x = g.any({.dtypes = op.dtypes});
  const auto allowed = [&](std::size_t a) { return !extremum || x.type.shape[a] > 0; };
  return Draft{{x}, {{"keep_axes", g.random().coin()}, {"axes", g.axes(x.type.rank(), allowed)}}};
}

std::optional<Draft> make_arg_reduce(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .also = has_elements});
  const std::int64_t axis = g.random().between(-1, x.type.rank() - 1);
  return Draft{{x}, {{"axis", axis}, {"keep_axis", g.random().coin()}}};
}

std::optional<Draft> make_scan(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1});
  return Draft{{x}, {{"axis", g.axis(x.type.rank())}, {"reverse", g.random().coin()}}};
}

std::optional<Draft> make_sort(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1});
  return Draft{{x}, {{"axis", g.axis(x.type.rank())}, {"ascending", g.random().coin()}}};
}

std::optional<Draft> make_iota(const OpDef&, Generator& g) {
  const Shape shape = g.shape(0, 3);
  const std::int64_t axis = g.random().between(-1, static_cast<std::int64_t>(shape.size()) - 1);
  return Draft{{}, {{"dtype", g.dtype(ops::kAllDTypes)}, {"axis", axis}, {"shape", Ints(shape)}}};
}

std::optional<Draft> make_eye(const OpDef&, Generator& g) {
  return Draft{{}, {{"dtype", g.dtype(ops::kAllDTypes)}, {"rows", g.dim()}, {"columns", g.dim()}}};
}

std::int64_t start(Generator& g, std::int64_t room) {
  Random& r = g.random();
  if (r.percent(8)) return r.pick({INT64_MIN, INT64_MAX, std::int64_t{1} << 32, std::int64_t{-7}});
  return r.between(-1, room + 1);
}

// One element for a dynamic start, of any real dtype.
Operand start_operand(Generator& g, std::int64_t room) {
  Shape one(static_cast<std::size_t>(g.random().below(2)), 1);
  return g.like({g.dtype(g.random().percent(80) ? ops::kIntegers : ops::kReals), std::move(one)},
                {.purpose = Purpose::index, .bound = room + 1});
}

struct Window {
  Ints lengths, strides, starts;
  std::int64_t mask = 0;
  std::vector<Operand> dynamic;
};

Window window_of(Generator& g, const Shape& shape) {
  Random& r = g.random();
  Window out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out.lengths.push_back(r.percent(20) ? shape[i] : r.between(std::min<std::int64_t>(shape[i], 1), shape[i]));
    out.strides.push_back(r.percent(60) ? 1 : r.between(1, 3));
    const std::int64_t room = shape[i] - out.lengths.back();
    if (r.percent(25)) {
      out.mask |= std::int64_t{1} << i;
      out.starts.push_back(0);
      out.dynamic.push_back(start_operand(g, room));
    } else {
      out.starts.push_back(start(g, room));
    }
  }
  return out;
}

std::optional<Draft> make_slice(const OpDef&, Generator& g) {
  const Operand x = g.any({});
  Window w = window_of(g, x.type.shape);
  Draft draft{{x},
              {{"dynamic_mask", w.mask},
               {"input_shape", Ints(x.type.shape)},
               {"lengths", w.lengths},
               {"strides", w.strides},
               {"starts", w.starts}}};
  draft.operands.insert(draft.operands.end(), w.dynamic.begin(), w.dynamic.end());
  return draft;
}

std::optional<Draft> make_put_slice(const OpDef&, Generator& g) {
  const Operand x = g.any({.min_rank = 1});
  Window w = window_of(g, x.type.shape);
  const Operand update = g.like({mostly(g, x.type.dtype, ops::kReals), w.lengths});
  Draft draft{
      {x, update},
      {{"dynamic_mask", w.mask}, {"input_shape", Ints(x.type.shape)}, {"lengths", w.lengths}, {"starts", w.starts}}};
  draft.operands.insert(draft.operands.end(), w.dynamic.begin(), w.dynamic.end());
  return draft;
}

constexpr Maker kMakers[] = {
    {"bitcast", make_bitcast},
    {"reshape", make_reshape},
    {"squeeze", make_squeeze},
    {"transpose", make_transpose},
    {"broadcast", make_broadcast},
    {"pad", make_pad},
    {"reverse", make_reverse},
    {"concatenate", make_concatenate},
    {"stack", make_stack},
    {"sum", make_reduce},
    {"product", make_reduce},
    {"all", make_reduce},
    {"any", make_reduce},
    {"reduce_max", make_reduce},
    {"reduce_min", make_reduce},
    {"argmax", make_arg_reduce},
    {"argmin", make_arg_reduce},
    {"cumulative_sum", make_scan},
    {"cumulative_product", make_scan},
    {"cumulative_max", make_scan},
    {"cumulative_min", make_scan},
    {"sort", make_sort},
    {"argsort", make_sort},
    {"iota", make_iota},
    {"eye", make_eye},
    {"slice", make_slice},
    {"put_slice", make_put_slice},
};

}  // namespace

std::span<const Maker> shape_makers() { return kMakers; }

}  // namespace reprise::fuzz
