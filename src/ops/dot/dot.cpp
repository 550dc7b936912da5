#include "ops/dot/dot.hpp"

#include <algorithm>
#include <limits>

namespace reprise::ops {
namespace {

struct ModeRule {
  QuantMode mode;
  std::array<int, 3> group_sizes;
  std::array<int, 7> bits;
};
constexpr ModeRule kModeRules[] = {
    {QuantMode::affine, {32, 64, 128}, {1, 2, 3, 4, 5, 6, 8}},
    {QuantMode::mxfp4, {32}, {4}},
    {QuantMode::mxfp8, {32}, {8}},
    {QuantMode::nvfp4, {16}, {4}},
};

template <std::size_t N>
bool contains(const std::array<int, N>& list, std::int64_t value) {
  return value != 0 && std::find(list.begin(), list.end(), value) != list.end();
}

template <std::size_t N>
std::string list_text(const std::array<int, N>& list) {
  std::string text;
  for (const int v : list) {
    if (v != 0) text += (text.empty() ? "" : ", ") + std::to_string(v);
  }
  return text;
}

Status check_mode(const InferContext& context, const QuantizedMatmulAttrs& attrs) {
  const auto& rule = *std::find_if(std::begin(kModeRules), std::end(kModeRules),
                                   [&](const ModeRule& r) { return r.mode == attrs.mode; });
  if (!contains(rule.group_sizes, attrs.group_size)) {
    return context.error("attribute 'group_size' is {}; mode {} takes {}", attrs.group_size, name(attrs.mode),
                         list_text(rule.group_sizes));
  }
  if (!contains(rule.bits, attrs.bits)) {
    return context.error("attribute 'bits' is {}; mode {} takes {}", attrs.bits, name(attrs.mode),
                         list_text(rule.bits));
  }
  const bool affine = attrs.mode == QuantMode::affine;
  if (affine != attrs.has_biases) {
    return context.error("attribute 'has_biases' is {}; mode {} {} biases", attrs.has_biases, name(attrs.mode),
                         affine ? "needs" : "takes no");
  }
  if (attrs.has_biases && context.size() < 4) return context.error("operand biases is missing");
  return {};
}

// The product is computed on matrices, whose axes are counted in 32 bits.
Status check_merged(const InferContext& context, std::string_view what, const Shape& sizes) {
  const auto count = element_count(sizes);
  if (count && *count <= std::numeric_limits<std::int32_t>::max()) return {};
  return context.error("a is {} and b is {}: the {} have more than {} elements together", to_string(context[0]),
                       to_string(context[1]), what, std::numeric_limits<std::int32_t>::max());
}

}  // namespace

Result<Types> infer_dot(const InferContext& context, const DotAttrs& attrs) {
  const TensorType& a = context[0];
  const TensorType& b = context[1];
  const DType dtype = promote(a.dtype, b.dtype);
  if (!is_floating(dtype) && !is_complex(dtype)) {
    return context.error("a is {} and b is {}; wanted a floating or complex dtype", to_string(a), to_string(b));
  }
  if (attrs.contract_a.size() != attrs.contract_b.size() || attrs.batch_a.size() != attrs.batch_b.size()) {
    return context.error("axes are paired by position; contract_a has {} and contract_b {}, batch_a {} and batch_b {}",
                         attrs.contract_a.size(), attrs.contract_b.size(), attrs.batch_a.size(), attrs.batch_b.size());
  }
  Ints all_a = attrs.batch_a;
  all_a.insert(all_a.end(), attrs.contract_a.begin(), attrs.contract_a.end());
  Ints all_b = attrs.batch_b;
  all_b.insert(all_b.end(), attrs.contract_b.begin(), attrs.contract_b.end());
  REPRISE_ASSIGN(const auto axes_a, context.axes("contract_a and batch_a", all_a, a.rank()));
  REPRISE_ASSIGN(const auto axes_b, context.axes("contract_b and batch_b", all_b, b.rank()));
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    if (a.shape[axes_a[i]] != b.shape[axes_b[i]]) {
      return context.error("a is {} and b is {}: axis {} of a has {}, the paired axis {} of b has {}", to_string(a),
                           to_string(b), axes_a[i], a.shape[axes_a[i]], axes_b[i], b.shape[axes_b[i]]);
    }
  }
  TensorType out{dtype, {}};
  Shape summed;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    (i < attrs.batch_a.size() ? out.shape : summed).push_back(a.shape[axes_a[i]]);
  }
  REPRISE_RETURN_IF_ERROR(check_merged(context, "summed axes", summed));
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& used = k == 0 ? axes_a : axes_b;
    Shape free;
    for (std::size_t i = 0; i < context[k].shape.size(); ++i) {
      if (std::find(used.begin(), used.end(), i) == used.end()) free.push_back(context[k].shape[i]);
    }
    REPRISE_RETURN_IF_ERROR(check_merged(context, k == 0 ? "free axes of a" : "free axes of b", free));
    out.shape.insert(out.shape.end(), free.begin(), free.end());
  }
  return Types{std::move(out)};
}

Result<Types> infer_quantized_matmul(const InferContext& context, const QuantizedMatmulAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(check_mode(context, attrs));
  const TensorType& x = context[0];
  const TensorType& w = context[1];
  const TensorType& scales = context[2];
  const bool affine = attrs.mode == QuantMode::affine;
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(1, 2));
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, set_of(DType::uint32)));
  REPRISE_RETURN_IF_ERROR(context.require_dtype(2, affine ? kFloats : set_of(DType::uint8)));
  if (attrs.has_biases) {
    REPRISE_RETURN_IF_ERROR(context.require_dtype(3, kFloats));
    if (context[3].shape != scales.shape) {
      return context.error("biases is {}; wanted the shape of scales, {}", to_string(context[3]), to_string(scales));
    }
  }
  const DType dtype = affine ? promote(x.dtype, scales.dtype) : x.dtype;
  if (!is_floating(dtype)) return context.error("x is {}; wanted a floating dtype", to_string(x));

  const std::int64_t packed_bits = w.shape.back() * 32;
  const std::int64_t codes = packed_bits / attrs.bits;
  if (packed_bits % attrs.bits != 0 || codes % attrs.group_size != 0) {
    return context.error(
        "w is {}: its last axis holds {} bits, which is not a whole number of groups of {} codes of {} bits",
        to_string(w), packed_bits, attrs.group_size, attrs.bits);
  }
  Shape wanted = w.shape;
  wanted.back() = codes / attrs.group_size;
  if (scales.shape != wanted) {
    return context.error("scales is {}; w is {}, so wanted {}", to_string(scales), to_string(w), to_string(wanted));
  }
  const std::int64_t rows = w.shape[w.shape.size() - 2];
  const std::int64_t k = attrs.transpose ? codes : rows;
  const std::int64_t n = attrs.transpose ? rows : codes;
  if (x.shape.back() != k) {
    return context.error("x is {}: its last axis has {}; w is {}, so wanted {}", to_string(x), x.shape.back(),
                         to_string(w), k);
  }
  TensorType out{dtype, x.shape};
  if (w.shape.size() > 2) {
    // Batch axes of w broadcast with those of x.
    const TensorType batch[] = {
        {DType::bool_, Shape(x.shape.begin(), x.shape.end() - std::min<std::ptrdiff_t>(2, x.rank()))},
        {DType::bool_, Shape(w.shape.begin(), w.shape.end() - 2)}};
    const InferContext both{context.op, batch};
    REPRISE_ASSIGN(Shape shape, both.broadcast());
    if (x.rank() >= 2) shape.push_back(x.shape[x.shape.size() - 2]);
    if (x.rank() < 2) return context.error("x is {}; wanted rank 2 or more beside a batched w", to_string(x));
    shape.push_back(n);
    return Types{{dtype, std::move(shape)}};
  }
  out.shape.back() = n;
  return Types{std::move(out)};
}

}  // namespace reprise::ops
