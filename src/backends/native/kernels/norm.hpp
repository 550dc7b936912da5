// Normalisation of rows, and the gated activation.
#pragma once

#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// An array of float32, float16 or bfloat16.
struct FloatArray {
  const void* data = nullptr;
  DType type = DType::float32;
};

/// Each row of x: (x - mean) / sqrt(variance + eps) * weight + bias, or without the mean. Computed in float32.
struct Normalisation {
  std::int64_t rows = 0, width = 0;
  float eps = 0;
  bool centre = false;
  FloatArray x, weight, bias;  ///< bias may be missing
  void* out = nullptr;
  DType out_type = DType::float32;
};
void normalise(const Normalisation& n, int threads);

/// Each row of x, of float32: exp(x - max) / sum of those.
void softmax(const float* x, float* out, std::int64_t rows, std::int64_t width, int threads);

/// out = gate * sigmoid(gate) * up, n elements.
void swiglu(FloatArray gate, FloatArray up, void* out, DType out_type, std::int64_t n, int threads);

}  // namespace reprise::native
