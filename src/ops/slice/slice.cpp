#include "ops/slice/slice.hpp"

#include <bit>

namespace reprise::ops {
namespace {

Status check_starts(const InferContext& context, std::int64_t mask, const Ints& input_shape, const Ints& lengths,
                    std::size_t first) {
  const TensorType& x = context[0];
  if (input_shape != x.shape) {
    return context.error("x is {}; attribute 'input_shape' says {}", to_string(x), to_string(input_shape));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > x.shape[i]) {
      return context.error("x is {}; attribute 'lengths' asks {} of axis {}", to_string(x), lengths[i], i);
    }
  }
  const auto bits = static_cast<std::uint64_t>(mask);
  if (lengths.size() < 64 && (bits >> lengths.size()) != 0) {
    return context.error("attribute 'dynamic_mask' is {}; x has {} axes", mask, x.rank());
  }
  const auto dynamic = static_cast<std::size_t>(std::popcount(bits));
  if (context.size() != first + dynamic) {
    return context.error("{} start operands; attribute 'dynamic_mask' asks for {}", context.size() - first, dynamic);
  }
  for (std::size_t k = first; k < context.size(); ++k) {
    if (element_count(context[k].shape) != 1 || is_complex(context[k].dtype)) {
      return context.error("operand {} (start) is {}; wanted one element of a real dtype", k, to_string(context[k]));
    }
  }
  return {};
}

}  // namespace

Result<Types> infer_slice(const InferContext& context, const SliceAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(check_starts(context, attrs.dynamic_mask, attrs.input_shape, attrs.lengths, 1));
  TensorType out{context[0].dtype, {}};
  for (std::size_t i = 0; i < attrs.lengths.size(); ++i) {
    out.shape.push_back((attrs.lengths[i] + attrs.strides[i] - 1) / attrs.strides[i]);
  }
  return Types{std::move(out)};
}

Result<Types> infer_put_slice(const InferContext& context, const PutSliceAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(check_starts(context, attrs.dynamic_mask, attrs.input_shape, attrs.lengths, 2));
  if (attrs.lengths.empty()) return context.error("x is {}; wanted rank 1 or more", to_string(context[0]));
  if (context[1].shape != attrs.lengths) {
    return context.error("update is {}; attribute 'lengths' says {}", to_string(context[1]), to_string(attrs.lengths));
  }
  return Types{context[0]};
}

}  // namespace reprise::ops
