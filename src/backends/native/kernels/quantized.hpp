// Products with weights that are packed in MLX's affine layout: weight = scale * code + bias.
#pragma once

#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// Codes of `bits` bits, packed along the last axis, lowest bits first; `group` consecutive ones share a scale and a
/// bias, each float32, float16 or bfloat16.
struct QuantizedMatrix {
  const std::uint32_t* codes = nullptr;
  const void* scales = nullptr;
  const void* biases = nullptr;
  DType scale_type = DType::float32;
  DType bias_type = DType::float32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< codes in a row
  int bits = 4;
  int group = 32;

  std::int64_t row_bytes() const { return columns / 8 * bits; }
  std::int64_t groups() const { return columns / group; }
};

/// out (m, w.rows) = x (m, w.columns) times w transposed.
void quantized_product(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads);

/// out (m, w.columns) = x (m, w.rows) times w.
void quantized_product_plain(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads);

/// The kernels behind quantized_product, for tests and benchmarks: the integer one gives false where it cannot serve
/// (no AVX-512 VNNI, scales and biases of two dtypes, or x is not finite).
bool quantized_rows_integer(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads);
void quantized_rows_float(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads);
void quantized_panels(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads);

}  // namespace reprise::native
