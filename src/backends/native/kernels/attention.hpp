// Scaled dot-product attention that never builds the matrix of scores: blocks of queries meet tiles of keys, with a
// running maximum and sum for the softmax.
#pragma once

#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// A tensor (batch, head, row, feature) of float32, float16 or bfloat16; features are contiguous. Strides in elements.
struct AttentionTensor {
  const void* data = nullptr;
  DType type = DType::float32;
  std::int64_t batch = 0, head = 0, row = 0;
};

/// Added to the scores, or hides where it is zero. Strides in elements, 0 repeats. No data: no mask.
struct AttentionMask {
  const void* data = nullptr;
  DType type = DType::bool_;
  bool hides = true;
  std::int64_t batch = 0, head = 0, query = 0, key = 0;
};

struct Attention {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  float scale = 1;
  AttentionTensor q, k, v;
  AttentionMask mask;
  /// Query i sees keys j <= i + reach.
  bool causal = false;
  std::int64_t reach = 0;
  const void* sinks = nullptr;  ///< (heads): one more logit each
  DType sinks_type = DType::float32;
  bool nan_is_zero = false;  ///< results that are not a number become 0
  void* out = nullptr;       ///< (batch, heads, queries, value_width), dense
  DType out_type = DType::float32;
};

/// A query that sees no key gives 0. Computed in float32.
void attention(const Attention& a, int threads);

}  // namespace reprise::native
