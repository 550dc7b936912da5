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

/// The rows of the input (along the first spatial axis) that rows [begin, end) of the result are computed from.
View rows_of(const View& input, const ops::ConvAttrs& attrs, std::int64_t kernel, std::int64_t begin,
             std::int64_t end) {
  const std::int64_t reach = (kernel - 1) * attrs.kernel_dilation[0] + 1;
  return range(input, 1, begin * attrs.strides[0], (end - 1 - begin) * attrs.strides[0] + reach);
}

/// Where an input lies within its padding, which is written out: oneDNN leaves padding out of the sums, where zero
/// times an infinite weight is a NaN.
struct Padded {
  View whole, inside;
};

Padded padded(OpPlanner& op, const View& input, const ops::ConvAttrs& attrs) {
  TensorType type = input.type;
  for (std::size_t i = 0; i < attrs.low.size(); ++i) type.shape[i + 1] += attrs.low[i] + attrs.high[i];
  const View whole = op.scratch(type);
  View inside = whole;
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    inside = range(inside, i + 1, attrs.low[i], input.type.shape[i + 1]);
  }
  return {whole, inside};
}

void fill(OpPlanner& op, const Padded& padded, const View& input) {
  View zero = op.constant(mlx::core::zeros({}, to_mlx(input.type.dtype), mlx::core::Device::cpu));
  zero.type.shape = padded.whole.type.shape;
  zero.strides.assign(zero.type.shape.size(), 0);
  op.add(make_copy_step(zero, padded.whole), {}, {});
  op.add(make_copy_step(input, padded.inside), {}, {});
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
  double elements = 1;
  for (std::size_t a = 0; a < input.type.shape.size(); ++a) {
    const bool spatial = a > 0 && a + 1 < input.type.shape.size();
    elements *= static_cast<double>(input.type.shape[a]) +
                (spatial ? static_cast<double>(attrs.low[a - 1]) + static_cast<double>(attrs.high[a - 1]) : 0);
  }
  if (elements > 1e6 + 16 * static_cast<double>(input.size())) return decline("padding that dwarfs the input");
  const auto any_of = [](const ops::Ints& values) {
    return std::any_of(values.begin(), values.end(), [](auto v) { return v > 0; });
  };
  std::optional<Padded> room;
  if (any_of(attrs.low) || any_of(attrs.high)) room = padded(op, input, attrs);
  const View source = room ? room->whole : op.dense(input);
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
    std::vector<DnnlPart> parts;
    std::string kernel_name;
    std::optional<Desc> packed_desc;
    View packed;
    bool pack = false;
    const Dims none(attrs.strides.size(), 0), strides(attrs.strides.begin(), attrs.strides.end());
    Dims dilation(attrs.kernel_dilation.begin(), attrs.kernel_dilation.end());
    for (auto& d : dilation) --d;
    for (std::int64_t p = 0; p < images * bands; ++p) {
      const std::int64_t image = batch * (p / bands) / images, next = batch * (p / bands + 1) / images;
      const std::int64_t begin = height * (p % bands) / bands, end = height * (p % bands + 1) / bands;
      View in = range(source, 0, image, next - image);
      if (bands > 1) in = rows_of(in, attrs, kernel, begin, end);
      const View out = range(range(output, 0, image, next - image), 1, begin, end - begin);
      const Desc in_desc = channels_first(in, *type), out_desc = channels_first(out, *type);
      const dnnl::convolution_forward::primitive_desc pd(dnnl_engine(), dnnl::prop_kind::forward_inference,
                                                         dnnl::algorithm::convolution_direct, in_desc, any, out_desc,
                                                         strides, dilation, none, none, attributes());
      kernel_name = pd.impl_info_str();
      // oneDNN's loops for what nothing else takes are slower than MLX's products.
      if (kernel_name.starts_with("ref")) return decline("oneDNN has only its reference loops for it");
      if (!packed_desc) {
        packed_desc = pd.weights_desc();
        const mlx::core::array* fixed = op.fixed(weight);
        pack = *packed_desc != plain && !fixed;
        if (*packed_desc == plain) {
          packed = weight;
        } else if (fixed) {
          packed = op.constant(reordered(*fixed, weight, plain, *packed_desc));
        } else {
          packed = op.scratch({DType::uint8, {static_cast<std::int64_t>(packed_desc->get_size())}});
        }
      } else if (*packed_desc != pd.weights_desc()) {
        return decline("oneDNN wants the weights of each part in another order");
      }
      std::vector<DnnlArgument> arguments{
          {DNNL_ARG_SRC, in_desc, in}, {DNNL_ARG_WEIGHTS, *packed_desc, packed}, {DNNL_ARG_DST, out_desc, out}};
      add_scratchpad(op, pd.scratchpad_desc(), arguments);
      parts.push_back({dnnl::convolution_forward(pd), std::move(arguments)});
    }
    // Nothing is declined any more: the steps.
    if (room) fill(op, *room, input);
    if (pack) {
      std::vector<DnnlPart> reorder;
      reorder.push_back(
          {dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), plain, dnnl_engine(), *packed_desc)),
           {{DNNL_ARG_FROM, plain, weight}, {DNNL_ARG_TO, *packed_desc, packed}}});
      add_dnnl_step(op, std::move(reorder), fmt::format("pack weights {}", to_string(weight.type)));
    }
    add_dnnl_step(op, std::move(parts),
                  fmt::format("conv {} * {} (oneDNN {})", to_string(source.type), to_string(weight.type), kernel_name));
    return {};
  } catch (const dnnl::error& e) {
    return decline(fmt::format("oneDNN: {}", e.what()));
  }
}

}  // namespace reprise::native
