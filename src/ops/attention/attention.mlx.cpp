#include "ops/attention/attention.mlx.hpp"

#include <limits>

#include "backends/mlx/convert.hpp"
#include "ops/slice/slice.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

array attend(const array& q, const array& k, const array& v, double scale, const std::optional<array>& mask,
             const std::optional<array>& sinks, mx::Stream s) {
  if (q.shape(-1) == 0) {
    // No features: every score is 0, as with one feature that is 0.
    const auto one_zero = [&](const array& x) {
      return mx::zeros({x.shape(0), x.shape(1), x.shape(2), 1}, x.dtype(), s);
    };
    return attend(one_zero(q), one_zero(k), v, scale, mask, sinks, s);
  }
  return mx::fast::scaled_dot_product_attention(q, k, v, static_cast<float>(scale), mask ? "array" : "", mask, sinks,
                                                false, s);
}

bool is_empty(const LowerContext& context) { return element_count(context.results[0].shape) == 0; }

// 0 where `visible`, minus infinity elsewhere: MLX fills a bool mask with the least finite number instead, which lets a
// query that sees nothing see everything.
array additive(const array& visible, mx::Dtype dtype, mx::Stream s) {
  return mx::where(visible, scalar(0, dtype), scalar(-kInfinity, dtype), s);
}

array nan_to_zero(const array& x, mx::Stream s) { return mx::where(mx::isnan(x, s), scalar(0, x.dtype()), x, s); }

// Whether query i of `queries` sees key j of `keys`: j <= i + offset, (queries, keys). `offset` is int32, any shape of
// one element.
array causal(int queries, int keys, const array& offset, mx::Stream s) {
  const array i = mx::add(mx::arange(0, queries, 1, s), mx::reshape(offset, {}, s), s);
  return mx::less_equal(mx::arange(0, keys, 1, s), mx::expand_dims(i, 1, s), s);
}

// A key mask (B, keys) joined with a causal one (queries, keys), as (B, 1, queries, keys).
array combine(const array& causal_mask, const array& key_mask, mx::Stream s) {
  const array allowed = mx::not_equal(key_mask, scalar(0, key_mask.dtype()), s);
  return mx::logical_and(causal_mask, mx::expand_dims(allowed, std::vector<int>{1, 2}, s), s);
}

}  // namespace

array lower_sdpa(const LowerContext& context, const ops::ScaleAttrs& attrs, Masking masking) {
  const mx::Stream s = context.stream;
  const array& q = context[0];
  const int queries = q.shape(2);
  const int keys = context[1].shape(2);
  const std::size_t sinks_at = masking == Masking::array ? 4 : 3;
  std::optional<array> sinks;
  if (context.size() > sinks_at) sinks = context[sinks_at];
  // No key at all: nothing contributes, with sinks or without.
  if (keys == 0 || is_empty(context)) return zeros_of(context);

  const mx::Dtype dtype = context.dtype();
  std::optional<array> mask;
  std::optional<array> visible;  // rows that see a key, where some may not
  if (masking == Masking::array) {
    // A mask of one value gets the axis that keys are counted along.
    const array given = context[3].ndim() == 0 ? mx::reshape(context[3], {1}, s) : context[3];
    if (given.dtype() == mx::bool_) {
      mask = additive(given, dtype, s);
      visible = mx::any(given, -1, true, s);
    } else {
      mask = mx::astype(given, dtype, s);
      visible = mx::any(mx::not_equal(*mask, scalar(-kInfinity, dtype), s), -1, true, s);
    }
  } else if (masking == Masking::causal) {
    const array seen = causal(queries, keys, scalar(keys - queries, mx::int32), s);
    mask = additive(seen, dtype, s);
    if (queries > keys) visible = mx::any(seen, -1, true, s);
  }
  const array out = attend(q, context[1], context[2], attrs.scale, mask, sinks, s);
  if (!visible || sinks) return out;
  return mx::where(*visible, out, scalar(0, dtype), s);
}

array lower_sdpa_key_masked(const LowerContext& context, const ops::KeyMaskedAttrs& attrs) {
  const mx::Stream s = context.stream;
  const array& q = context[0];
  const int keys = context[1].shape(2);
  if (keys == 0 || is_empty(context)) return zeros_of(context);
  const array offset = scalar(static_cast<double>(attrs.kv_offset), mx::int32);
  const array seen = combine(causal(q.shape(2), keys, offset, s), context[3], s);
  std::optional<array> sinks;
  if (context.size() > 4) sinks = context[4];
  const array mask = additive(seen, context.dtype(), s);
  return nan_to_zero(attend(q, context[1], context[2], attrs.scale, mask, sinks, s), s);
}

std::vector<array> lower_kv_cache_sdpa_update(const LowerContext& context, const ops::KeyMaskedAttrs& attrs) {
  const mx::Stream s = context.stream;
  const array& q = context[0];
  const int length = q.shape(1);
  const int capacity = context[3].shape(1);
  const array start = clamp_start(context[5], capacity - length, s);
  const auto updated = [&](std::size_t cache, std::size_t rows) {
    const array cast = mx::astype(context[rows], context[cache].dtype(), s);
    if (cast.size() == 0) return context[cache];
    return mx::slice_update(context[cache], cast, start, {1}, s);
  };
  const array k_cache = updated(3, 1);
  const array v_cache = updated(4, 2);
  if (q.size() == 0 || capacity == 0) return {zeros_of(context), k_cache, v_cache};
  const auto heads_first = [&](const array& x) { return mx::transpose(x, {0, 2, 1, 3}, s); };
  const array reach = attrs.kv_offset == -1 ? start : scalar(static_cast<double>(attrs.kv_offset), mx::int32);
  const array seen = combine(causal(length, capacity, reach, s), context[6], s);
  const array mask = additive(seen, context.dtype(), s);
  const array out = attend(heads_first(q), heads_first(k_cache), heads_first(v_cache), attrs.scale, mask, {}, s);
  return {nan_to_zero(out, s), k_cache, v_cache};
}

}  // namespace reprise::mlx_backend
