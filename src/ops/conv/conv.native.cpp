#include "ops/conv/conv.native.hpp"

#include <mlx/ops.h>

#include <algorithm>

#include "backends/native/copy.hpp"
#include "backends/native/onednn.hpp"
#include "base/format.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// A channels-last view as oneDNN names its axes: (N, C, spatial...).
Desc channels_first(const View& x, dnnl::memory::data_type type) {
  const std::size_t rank = x.type.shape.size();
  Dims dims{x.type.shape[0], x.type.shape[rank - 1]};
  Dims strides{x.strides[0], x.strides[rank - 1]};
  dims.insert(dims.end(), x.type.shape.begin() + 1, x.type.shape.end() - 1);
  strides.insert(strides.end(), x.strides.begin() + 1, x.strides.end() - 1);
  // With one image its stride says nothing, but in a band of rows it is not that of a dense array, which oneDNN's fast
  // kernels ask for.
  if (dims[0] == 1) strides[0] = x.type.shape[1] * x.strides[1];
  return Desc(dims, type, strides);
}

/// Weights (O, spatial..., C / groups) as (O, C, spatial...), or (groups, O / groups, C / groups, spatial...).
Desc weights_desc(const View& w, std::int64_t groups, dnnl::memory::data_type type) {
  const Desc plain = channels_first(w, type);
  if (groups == 1) return plain;
  Dims dims = plain.get_dims(), strides = plain.get_strides();
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  strides.insert(strides.begin(), dims[1] * strides[0]);
  return Desc(dims, type, strides);
}

/// A range of a view along one axis.
View range(View x, std::size_t axis, std::int64_t begin, std::int64_t size) {
  x.offset += begin * x.strides[axis];
  x.type.shape[axis] = size;
  return x;
}

/// The rows of the result (along the first spatial axis) that one part computes, and what it reads for them.
struct Rows {
  View input, output;
  std::int64_t low, high;  ///< zeros around the input
};

Rows rows_of(const View& input, const View& output, const ops::ConvAttrs& attrs, std::int64_t kernel,
             std::int64_t begin, std::int64_t end) {
  const std::int64_t size = input.type.shape[1];
  const std::int64_t from = begin * attrs.strides[0] - attrs.low[0];
  const std::int64_t to = (end - 1) * attrs.strides[0] + (kernel - 1) * attrs.kernel_dilation[0] + 1 - attrs.low[0];
  const std::int64_t first = std::clamp<std::int64_t>(from, 0, size), last = std::clamp<std::int64_t>(to, first, size);
  return {range(input, 1, first, last - first), range(output, 1, begin, end - begin), first - from, to - last};
}

/// Multiplications below which a part is not worth another thread (about 10 us).
constexpr std::int64_t kWorthAPart = 512 * 1024;

/// The input with its padding written out: oneDNN leaves padding out of the sums, where zero times an infinite weight
/// is a NaN.
View with_zeros(OpPlanner& op, const View& input, ops::ConvAttrs& attrs) {
  TensorType type = input.type;
  bool some = false;
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    type.shape[i + 1] += attrs.low[i] + attrs.high[i];
    some = some || attrs.low[i] + attrs.high[i] > 0;
  }
  if (!some) return input;
  const View whole = op.scratch(type);
  View inside = whole;
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    inside = range(inside, i + 1, attrs.low[i], input.type.shape[i + 1]);
    attrs.low[i] = attrs.high[i] = 0;
  }
  mlx::core::array zero = mlx::core::zeros({}, to_mlx(type.dtype), mlx::core::Device::cpu);
  View nothing = op.constant(std::move(zero));
  nothing.type.shape = type.shape;
  nothing.strides.assign(type.shape.size(), 0);
  op.add(make_copy_step(nothing, whole), {}, {});
  op.add(make_copy_step(input, inside), {}, {});
  return whole;
}

}  // namespace

Decision plan_conv(OpPlanner& op, const ops::ConvAttrs& given) {
  const DType dtype = op.result_type().dtype;
  if (op[0].type.dtype != dtype || op[1].type.dtype != dtype) return decline("operands of two dtypes");
  const auto type = dnnl_type(dtype);
  if (!type) return decline("no kernel for this dtype");
  if (std::any_of(given.input_dilation.begin(), given.input_dilation.end(), [](auto d) { return d != 1; })) {
    return decline("a dilated input");
  }
  ops::ConvAttrs attrs = given;
  View input = op.dense(0);
  const View weight = op.dense(1), output = op.result();
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    // Negative padding cuts: a smaller view.
    const std::int64_t before = std::max<std::int64_t>(-attrs.low[i], 0);
    const std::int64_t after = std::max<std::int64_t>(-attrs.high[i], 0);
    if (before + after >= input.type.shape[i + 1]) return decline("padding that leaves nothing of the input");
    input = range(input, i + 1, before, input.type.shape[i + 1] - before - after);
    attrs.low[i] = std::max<std::int64_t>(attrs.low[i], 0);
    attrs.high[i] = std::max<std::int64_t>(attrs.high[i], 0);
  }
  double padded = 1;
  for (std::size_t a = 0; a < input.type.shape.size(); ++a) {
    const bool spatial = a > 0 && a + 1 < input.type.shape.size();
    padded *= static_cast<double>(input.type.shape[a]) +
              (spatial ? static_cast<double>(attrs.low[a - 1]) + static_cast<double>(attrs.high[a - 1]) : 0);
  }
  if (padded > 1e6 + 16 * static_cast<double>(input.size())) return decline("padding that dwarfs the input");
  input = op.dense(with_zeros(op, input, attrs));
  const Desc plain = weights_desc(weight, attrs.groups, *type);
  const Desc any(plain.get_dims(), *type, dnnl::memory::format_tag::any);
  const std::int64_t batch = output.type.shape[0], height = output.type.shape[1], kernel = weight.type.shape[1];
  const std::int64_t work = op.result_type().dtype == DType::float32 ? 1 : 2;
  const std::int64_t products = output.size() * (weight.size() / weight.type.shape[0]) / work;
  const std::int64_t wanted = std::clamp<std::int64_t>(products / kWorthAPart, 1, threads());
  // By images; by rows within each where there are fewer images than threads.
  const std::int64_t images = std::min(batch, wanted);
  const std::int64_t bands = batch >= wanted ? 1 : std::min(height, (wanted + batch - 1) / batch);
  try {
    const OneThread one;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    std::vector<DnnlPart> parts;
    std::vector<View> reads{input}, writes{output};
    std::string kernel_name;
    std::optional<Desc> packed_desc;
    View packed;
    for (std::int64_t p = 0; p < images * bands; ++p) {
      const std::int64_t image = batch * (p / bands) / images, next = batch * (p / bands + 1) / images;
      const std::int64_t band = p % bands;
      const View in = range(input, 0, image, next - image), out = range(output, 0, image, next - image);
      Rows rows{in, out, attrs.low[0], attrs.high[0]};
      if (bands > 1) rows = rows_of(in, out, attrs, kernel, height * band / bands, height * (band + 1) / bands);
      if (rows.input.type.shape[1] == 0) return decline("rows that read only padding");
      Dims low(attrs.low.begin(), attrs.low.end()), high(attrs.high.begin(), attrs.high.end());
      low[0] = rows.low;
      high[0] = rows.high;
      Dims dilation(attrs.kernel_dilation.begin(), attrs.kernel_dilation.end());
      for (auto& d : dilation) --d;
      const Desc in_desc = channels_first(rows.input, *type), out_desc = channels_first(rows.output, *type);
      const dnnl::convolution_forward::primitive_desc pd(
          dnnl_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, in_desc, any,
          out_desc, Dims(attrs.strides.begin(), attrs.strides.end()), dilation, low, high, attr);
      kernel_name = pd.impl_info_str();
      // oneDNN's loops for what nothing else takes are slower than MLX's products.
      if (kernel_name.starts_with("ref")) return decline("oneDNN has only its reference loops for it");
      if (!packed_desc || *packed_desc != pd.weights_desc()) {
        packed_desc = pd.weights_desc();
        if (*packed_desc == plain) {
          packed = weight;
        } else if (const mlx::core::array* fixed = op.fixed(weight)) {
          packed = op.constant(reordered(*fixed, weight, plain, *packed_desc));
        } else {
          packed = op.scratch({DType::uint8, {static_cast<std::int64_t>(packed_desc->get_size())}});
          std::vector<DnnlPart> reorder;
          reorder.push_back(
              {dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), plain, dnnl_engine(), *packed_desc)),
               {{DNNL_ARG_FROM, plain, weight}, {DNNL_ARG_TO, *packed_desc, packed}}});
          op.add(make_dnnl_step(std::move(reorder), fmt::format("pack weights {}", to_string(weight.type))), {weight},
                 {packed});
        }
        reads.push_back(packed);
      }
      std::vector<DnnlArgument> arguments{{DNNL_ARG_SRC, in_desc, rows.input},
                                          {DNNL_ARG_WEIGHTS, *packed_desc, packed},
                                          {DNNL_ARG_DST, out_desc, rows.output}};
      if (const auto bytes = static_cast<std::int64_t>(pd.scratchpad_desc().get_size()); bytes > 0) {
        writes.push_back(op.scratch({DType::uint8, {bytes}}));
        arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), writes.back()});
      }
      parts.push_back({dnnl::convolution_forward(pd), std::move(arguments)});
    }
    const std::string in_parts = parts.size() > 1 ? fmt::format(" in {} parts", parts.size()) : "";
    op.add(make_dnnl_step(std::move(parts), fmt::format("conv {} * {} (oneDNN {}{})", to_string(input.type),
                                                        to_string(weight.type), kernel_name, in_parts)),
           reads, writes);
    return {};
  } catch (const dnnl::error& e) {
    return decline(fmt::format("oneDNN: {}", e.what()));
  }
}

}  // namespace reprise::native
