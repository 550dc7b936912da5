#include <algorithm>

#include "fuzz/makers.hpp"

namespace reprise::fuzz {
namespace {

using ops::Ints;
using ops::OpDef;

Ints counting(std::size_t n) {
  Ints out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<std::int64_t>(i));
  return out;
}

std::optional<Draft> make_dot(const OpDef&, Generator& g) {
  Random& r = g.random();
  const Operand a = g.any({});
  const bool exact = is_floating(a.type.dtype) || is_complex(a.type.dtype);
  const DType d =
      exact && r.percent(70) ? a.type.dtype : g.dtype(exact ? ops::kAllDTypes : ops::kFloats | ops::kComplex);
  Ints order = counting(a.type.shape.size());
  r.shuffle(order);
  const auto batches =
      static_cast<std::size_t>(r.percent(60) ? 0 : r.below(std::min<std::int64_t>(a.type.rank(), 2) + 1));
  const std::size_t left = order.size() - batches;
  const auto contracted = static_cast<std::size_t>(std::min<std::int64_t>(r.below(3), static_cast<std::int64_t>(left)));
  const Ints batch_a(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(batches));
  const Ints contract_a(order.begin() + static_cast<std::ptrdiff_t>(batches),
                        order.begin() + static_cast<std::ptrdiff_t>(batches + contracted));
  // The axes of b: batch, contracted and free ones, in random places.
  Shape sizes;
  for (const auto axis : batch_a) sizes.push_back(a.type.shape[static_cast<std::size_t>(axis)]);
  for (const auto axis : contract_a) sizes.push_back(a.type.shape[static_cast<std::size_t>(axis)]);
  for (auto n = r.below(3); n > 0; --n) {
    sizes.push_back(g.dim());
    if (!g.fits(sizes)) sizes.pop_back();
  }
  Ints place = counting(sizes.size());
  r.shuffle(place);
  Shape shape(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) shape[static_cast<std::size_t>(place[i])] = sizes[i];
  const Ints batch_b(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(batches));
  const Ints contract_b(place.begin() + static_cast<std::ptrdiff_t>(batches),
                        place.begin() + static_cast<std::ptrdiff_t>(batches + contracted));
  const Operand b = g.like({d, shape});
  return Draft{{a, b},
               {{"contract_a", contract_a}, {"contract_b", contract_b}, {"batch_a", batch_a}, {"batch_b", batch_b}}};
}

std::optional<Draft> make_quantized_matmul(const OpDef&, Generator& g) {
  Random& r = g.random();
  const std::string mode = r.percent(60) ? "affine" : r.pick({"mxfp4", "mxfp8", "nvfp4"});
  const bool affine = mode == "affine";
  const std::int64_t group = affine ? r.pick({32, 32, 64, 128}) : mode == "nvfp4" ? 16 : 32;
  const std::int64_t bits = affine ? r.pick({1, 2, 3, 4, 4, 4, 5, 6, 8, 8}) : mode == "mxfp8" ? 8 : 4;
  const bool transpose = r.percent(70);
  std::int64_t packed = group * r.between(1, 2);  // codes along w's last axis
  while (packed * bits % 32 != 0) packed += group;
  const std::int64_t other = transpose ? r.between(1, 9) : r.pick({1, 3, 8, 16, 17});
  Shape batch;
  if (r.percent(12)) batch.push_back(r.between(1, 2));
  const auto with = [&](std::int64_t rows, std::int64_t columns) {
    Shape s = batch;
    s.push_back(rows);
    s.push_back(columns);
    return s;
  };
  const Operand w = g.like({DType::uint32, with(other, packed * bits / 32)}, {.purpose = Purpose::codes});
  const DType d = g.dtype(ops::kFloats);
  const Shape scale_shape = with(other, packed / group);
  const Operand scales = affine ? g.like({r.percent(80) ? d : g.dtype(ops::kFloats), scale_shape})
                                : g.fresh({DType::uint8, scale_shape}, {.purpose = Purpose::exponent});
  Shape x_shape = batch.empty() ? g.shape(0, 2) : Shape{batch[0], r.between(1, 4)};
  if (element_count(x_shape).value() > 12) x_shape = {r.between(1, 9)};
  x_shape.push_back(transpose ? packed : other);
  Draft draft{
      {g.like({d, x_shape}), w, scales},
      {{"group_size", group}, {"bits", bits}, {"transpose", transpose}, {"mode", Name{mode}}, {"has_biases", affine}}};
  if (affine) draft.operands.push_back(g.like({scales.type.dtype, scale_shape}));
  return draft;
}

std::optional<Draft> make_conv(const OpDef&, Generator& g) {
  Random& r = g.random();
  const auto n = static_cast<std::size_t>(r.pick({1, 1, 2, 2, 3}));
  const std::int64_t groups = r.percent(65) ? 1 : r.between(2, 3);
  const std::int64_t in = groups * r.between(1, 4);
  const std::int64_t out = groups * r.between(1, 3);
  Shape input{r.percent(4) ? 0 : r.between(1, 2)};
  Shape weight{out};
  Ints strides, low, high, kernel_dilation, input_dilation;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t size = n == 3 ? r.between(1, 5) : r.pick({1, 2, 4, 5, 7, 8, 9});
    const std::int64_t kernel = r.between(1, 3);
    strides.push_back(r.percent(60) ? 1 : r.between(2, 3));
    kernel_dilation.push_back(r.percent(70) ? 1 : 2);
    input_dilation.push_back(r.percent(75) ? 1 : r.between(2, 3));
    const std::int64_t spread = (size - 1) * input_dilation.back() + 1;
    const std::int64_t reach = (kernel - 1) * kernel_dilation.back() + 1;
    // Enough padding that the kernel fits, or just does not.
    const std::int64_t lack = std::max<std::int64_t>(0, reach - spread - (r.percent(10) ? 1 : 0));
    low.push_back(lack > 0 ? r.between(0, lack) : r.between(-std::min<std::int64_t>(1, spread - reach), 2));
    high.push_back(std::max<std::int64_t>(lack - low.back(), 0) + (r.percent(30) ? 1 : 0));
    if (spread + low.back() + high.back() + 1 < reach) high.back() += reach;
    input.push_back(size);
    weight.push_back(kernel);
  }
  input.push_back(in);
  weight.push_back(in / groups);
  const DType d = g.dtype(ops::kFloats);
  const DType e = r.percent(75) ? d : g.dtype(ops::kReals);
  return Draft{{g.like({d, input}), g.like({e, weight})},
               {{"strides", strides},
                {"low", low},
                {"high", high},
                {"kernel_dilation", kernel_dilation},
                {"input_dilation", input_dilation},
                {"groups", groups}}};
}

struct Windows {
  Ints low, high, strides, sizes, dilations;
  Shape count;
};

Windows windows_of(Generator& g, const Shape& shape, bool dilated) {
  Random& r = g.random();
  Windows out;
  for (const auto n : shape) {
    out.sizes.push_back(r.between(1, 3));
    out.strides.push_back(r.percent(50) ? out.sizes.back() : r.between(1, 3));
    out.dilations.push_back(dilated && r.percent(30) ? 2 : 1);
    out.low.push_back(r.percent(60) ? 0 : r.between(1, 2));
    out.high.push_back(r.percent(60) ? 0 : r.between(1, 2));
    const std::int64_t reach = (out.sizes.back() - 1) * out.dilations.back() + 1;
    // One element too few gives no window at all; more are refused.
    const std::int64_t lack = reach - 1 - (n + out.low.back() + out.high.back());
    if (lack > 0) out.high.back() += lack + r.below(2);
    const std::int64_t padded = n + out.low.back() + out.high.back();
    out.count.push_back(reach > padded ? 0 : (padded - reach) / out.strides.back() + 1);
  }
  return out;
}

std::optional<Draft> make_window(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .max_rank = 3});
  const Windows w = windows_of(g, x.type.shape, true);
  return Draft{{x},
               {{"code", g.random().below(4)},
                {"low", w.low},
                {"high", w.high},
                {"strides", w.strides},
                {"sizes", w.sizes},
                {"dilations", w.dilations}}};
}

std::optional<Draft> make_window_scatter(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .max_rank = 3});
  const Windows w = windows_of(g, x.type.shape, false);
  const DType d = g.random().percent(80) ? x.type.dtype : g.dtype(op.dtypes);
  const DType e = g.random().percent(80) ? x.type.dtype : g.dtype(op.dtypes);
  return Draft{{x, g.like({d, w.count}), g.like({e, {}})},
               {{"low", w.low}, {"high", w.high}, {"strides", w.strides}, {"sizes", w.sizes}}};
}

std::optional<Draft> make_fft(const OpDef& op, Generator& g) {
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1, .max_rank = 3});
  const auto at = g.axis(x.type.rank());
  const auto n = x.type.shape[static_cast<std::size_t>(at < 0 ? at + x.type.rank() : at)];
  const std::int64_t length = n > 0 && g.random().coin() ? n : g.random().between(1, 17);
  return Draft{{x}, {{"axis", at}, {"length", length}}};
}

std::optional<Draft> make_fft2(const OpDef& op, Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 2, .max_rank = 3});
  Ints axes = counting(x.type.shape.size());
  r.shuffle(axes);
  if (r.percent(25)) axes[0] -= x.type.rank();
  return Draft{{x},
               {{"axis0", axes[0]}, {"axis1", axes[1]}, {"length0", r.between(1, 9)}, {"length1", r.between(1, 9)}}};
}

// Matrices that the op takes; some that it refuses at run time.
Operand matrix(Generator& g, const OpDef& op, Purpose purpose, bool square) {
  Random& r = g.random();
  Shape shape;
  if (r.percent(35)) shape.push_back(r.percent(5) ? 0 : r.between(1, 3));
  const std::int64_t n = r.percent(3) ? 0 : r.between(1, 6);
  shape.push_back(n);
  shape.push_back(square ? n : r.percent(3) ? 0 : r.between(1, 6));
  const TensorType type{g.dtype(op.dtypes), shape};
  if (purpose == Purpose::general || (g.options().linalg_errors && r.percent(10))) {
    return g.like(type);
  }
  return g.fresh(type, {.purpose = purpose});
}

std::optional<Draft> make_cholesky(const OpDef& op, Generator& g) {
  return Draft{{matrix(g, op, Purpose::positive, true)}, {}};
}

std::optional<Draft> make_solve(const OpDef& op, Generator& g) {
  Random& r = g.random();
  const Operand a = matrix(g, op, Purpose::regular, true);
  Shape shape(a.type.shape.begin(), a.type.shape.end() - 1);
  if (r.coin()) shape.push_back(r.between(0, 3));
  Draft draft{{a, g.like({r.percent(80) ? a.type.dtype : g.dtype(op.dtypes), shape})}, {}};
  if (op.attrs) draft.attrs = {{"upper", r.coin()}};
  return draft;
}

std::optional<Draft> make_factors(const OpDef& op, Generator& g) {
  return Draft{{matrix(g, op, g.random().coin() ? Purpose::general : Purpose::regular, op.name == "eigh")}, {}};
}

constexpr Maker kMakers[] = {
    {"dot", make_dot},
    {"quantized_matmul", make_quantized_matmul},
    {"conv_general", make_conv},
    {"window_sum", make_window},
    {"window_product", make_window},
    {"window_max", make_window},
    {"window_min", make_window},
    {"window_scatter_max", make_window_scatter},
    {"window_scatter_min", make_window_scatter},
    {"fft", make_fft},
    {"ifft", make_fft},
    {"fft2", make_fft2},
    {"ifft2", make_fft2},
    {"cholesky", make_cholesky},
    {"solve", make_solve},
    {"solve_triangular", make_solve},
    {"qr", make_factors},
    {"eigh", make_factors},
    {"svd", make_factors},
    {"lu", make_factors},
};

}  // namespace

std::span<const Maker> contract_makers() { return kMakers; }

}  // namespace reprise::fuzz
