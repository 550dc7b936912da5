#include "ops/attention/attention.hpp"

namespace reprise::ops {
namespace {

// q, k, v heads first; gives the result's type.
Result<TensorType> check_qkv(const InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) REPRISE_RETURN_IF_ERROR(context.require_rank(i, 4));
  const TensorType& q = context[0];
  const TensorType& k = context[1];
  const TensorType& v = context[2];
  const auto mismatch = [&](std::string_view what) {
    return context.error("q is {}, k is {}, v is {}: {}", to_string(q), to_string(k), to_string(v), what);
  };
  if (q.shape[0] != k.shape[0] || q.shape[0] != v.shape[0]) return mismatch("their batch sizes (axis 0) differ");
  if (k.shape[1] != v.shape[1]) return mismatch("k and v have different head counts (axis 1)");
  if (k.shape[2] != v.shape[2]) return mismatch("k and v have different lengths (axis 2)");
  if (q.shape[3] != k.shape[3]) return mismatch("q and k have different head sizes (axis 3)");
  if (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0) {
    return mismatch("the heads of q (axis 1) are not a multiple of those of k");
  }
  const DType dtype = promote(promote(q.dtype, k.dtype), v.dtype);
  if (!is_floating(dtype)) return mismatch("their common dtype is not floating");
  return TensorType{dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}};
}

Status check_sinks(const InferContext& context, std::size_t i, const TensorType& out) {
  const TensorType& sinks = context[i];
  if (sinks.shape != Shape{out.shape[1]}) {
    return context.error("sinks is {}; wanted shape [{}], one for each head of q", to_string(sinks), out.shape[1]);
  }
  if (promote(sinks.dtype, out.dtype) != out.dtype) {
    return context.error("sinks has dtype {}; it must promote to {}", name(sinks.dtype), name(out.dtype));
  }
  return {};
}

Status check_mask(const InferContext& context, std::size_t i, const TensorType& out) {
  const TensorType& mask = context[i];
  const Shape scores{out.shape[0], out.shape[1], out.shape[2], context[1].shape[2]};
  const auto fail = [&] {
    return context.error("mask is {}; wanted a shape that broadcasts to {}", to_string(mask), to_string(scores));
  };
  if (mask.shape.size() > scores.size()) return fail();
  for (std::size_t k = 0; k < mask.shape.size(); ++k) {
    const std::int64_t mine = mask.shape[mask.shape.size() - 1 - k];
    if (mine != 1 && mine != scores[scores.size() - 1 - k]) return fail();
  }
  if (is_complex(mask.dtype) || (is_floating(mask.dtype) && promote(mask.dtype, out.dtype) != out.dtype)) {
    return context.error("mask has dtype {}; it must promote to {}", name(mask.dtype), name(out.dtype));
  }
  return {};
}

Status check_key_mask(const InferContext& context, std::size_t i, std::int64_t batch, std::int64_t length) {
  if (context[i].shape != Shape{batch, length}) {
    return context.error("key_mask is {}; wanted shape [{}, {}]", to_string(context[i]), batch, length);
  }
  return context.require_dtype(i, kReals);
}

}  // namespace

Result<Types> infer_sdpa(const InferContext& context, SdpaExtras extras) {
  REPRISE_ASSIGN(TensorType out, check_qkv(context));
  std::size_t next = 3;
  if (extras == SdpaExtras::mask || extras == SdpaExtras::mask_sinks) {
    REPRISE_RETURN_IF_ERROR(check_mask(context, next++, out));
  }
  if (extras == SdpaExtras::sinks || extras == SdpaExtras::mask_sinks) {
    REPRISE_RETURN_IF_ERROR(check_sinks(context, next, out));
  }
  return Types{std::move(out)};
}

Result<Types> infer_sdpa_key_masked(const InferContext& context, bool sinks) {
  REPRISE_ASSIGN(TensorType out, check_qkv(context));
  REPRISE_RETURN_IF_ERROR(check_key_mask(context, 3, out.shape[0], context[1].shape[2]));
  if (sinks) REPRISE_RETURN_IF_ERROR(check_sinks(context, 4, out));
  return Types{std::move(out)};
}

Result<Types> infer_kv_cache_sdpa_update(const InferContext& context, const KeyMaskedAttrs&) {
  for (std::size_t i = 0; i < 5; ++i) REPRISE_RETURN_IF_ERROR(context.require_rank(i, 4));
  const TensorType& q = context[0];
  const TensorType& new_k = context[1];
  const TensorType& cache = context[3];
  const std::int64_t batch = q.shape[0];
  const std::int64_t length = q.shape[1];
  const std::int64_t width = q.shape[3];
  const std::int64_t kv_heads = new_k.shape[2];
  const std::int64_t capacity = cache.shape[1];
  const auto want = [&](std::size_t i, const Shape& wanted) -> Status {
    if (context[i].shape == wanted) return {};
    return context.error("{} is {}; q is {} and new_k {}, so wanted shape {}", context.operand_name(i),
                         to_string(context[i]), to_string(q), to_string(new_k), to_string(wanted));
  };
  REPRISE_RETURN_IF_ERROR(want(1, {batch, length, kv_heads, width}));
  REPRISE_RETURN_IF_ERROR(want(2, {batch, length, kv_heads, width}));
  REPRISE_RETURN_IF_ERROR(want(3, {batch, capacity, kv_heads, width}));
  REPRISE_RETURN_IF_ERROR(want(4, {batch, capacity, kv_heads, width}));
  for (std::size_t i : {3u, 4u}) REPRISE_RETURN_IF_ERROR(context.require_dtype(i, kFloats));
  if (kv_heads == 0 || q.shape[2] % kv_heads != 0) {
    return context.error("q is {}: its {} heads (axis 2) are not a multiple of the {} of new_k", to_string(q),
                         q.shape[2], kv_heads);
  }
  if (length > capacity) {
    return context.error("q is {}: {} rows do not fit the caches' {}", to_string(q), length, capacity);
  }
  if (element_count(context[5].shape) != 1) {
    return context.error("offset is {}; wanted one integer", to_string(context[5]));
  }
  REPRISE_RETURN_IF_ERROR(context.require_dtype(5, kIntegers));
  REPRISE_RETURN_IF_ERROR(check_key_mask(context, 6, batch, capacity));
  const DType dtype = promote(promote(q.dtype, cache.dtype), context[4].dtype);
  return Types{{dtype, {batch, q.shape[2], length, width}}, cache, context[4]};
}

}  // namespace reprise::ops
