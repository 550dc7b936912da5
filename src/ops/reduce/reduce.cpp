#include "ops/reduce/reduce.hpp"

#include <algorithm>
#include <limits>

namespace reprise::ops {
namespace {

Result<Shape> reduced(const InferContext& context, const ReduceAttrs& attrs, bool needs_elements) {
  const TensorType& x = context[0];
  REPRISE_ASSIGN(const auto axes, context.axes("axes", attrs.axes, x.rank()));
  Shape out;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      out.push_back(x.shape[i]);
      continue;
    }
    if (needs_elements && x.shape[i] == 0) {
      return context.error("x is {}; axis {} is empty and has no extremum", to_string(x), i);
    }
    if (attrs.keep_axes) out.push_back(1);
  }
  return out;
}

}  // namespace

DType widened(DType d) {
  switch (d) {
    case DType::bool_:
    case DType::int8:
    case DType::int16: return DType::int32;
    case DType::uint8:
    case DType::uint16: return DType::uint32;
    default: return d;
  }
}

Result<Types> infer_sum(const InferContext& context, const ReduceAttrs& attrs) {
  REPRISE_ASSIGN(Shape shape, reduced(context, attrs, false));
  return Types{{attrs.axes.empty() ? context[0].dtype : widened(context[0].dtype), std::move(shape)}};
}

Result<Types> infer_all_any(const InferContext& context, const ReduceAttrs& attrs) {
  REPRISE_ASSIGN(Shape shape, reduced(context, attrs, false));
  return Types{{DType::bool_, std::move(shape)}};
}

Result<Types> infer_extremum(const InferContext& context, const ReduceAttrs& attrs) {
  REPRISE_ASSIGN(Shape shape, reduced(context, attrs, true));
  return Types{{context[0].dtype, std::move(shape)}};
}

Result<Types> infer_arg_extremum(const InferContext& context, const ArgReduceAttrs& attrs) {
  const TensorType& x = context[0];
  const auto empty = [&] { return context.error("x is {}; an empty axis has no extremum", to_string(x)); };
  if (attrs.axis < 0) {
    const auto count = element_count(x.shape);
    if (count == 0) return empty();
    // The search runs along one axis, which is counted in 32 bits.
    if (!count || *count > std::numeric_limits<std::int32_t>::max()) {
      return context.error("x is {}; a flattened search takes up to {} elements", to_string(x),
                           std::numeric_limits<std::int32_t>::max());
    }
    return Types{{DType::uint32, attrs.keep_axis ? Shape(x.shape.size(), 1) : Shape{}}};
  }
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, x.rank()));
  if (x.shape[axis] == 0) return empty();
  Shape shape = x.shape;
  if (attrs.keep_axis) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return Types{{DType::uint32, std::move(shape)}};
}

}  // namespace reprise::ops
