// Tensors of a GGUF file as MLX arrays; quantised ones stay quantised.
//
//   const gguf::Tensor* weight = file.find_tensor("blk.0.ffn_up.weight");           // Q4_1 [576, 1536]
//   Result<gguf::AffineTensor> w = gguf::to_affine(file, *weight);
//   mlx::core::quantized_matmul(x, w->codes, w->scales, w->biases, true, w->group_size, w->bits);
//
// The arrays own their memory and are evaluated: they outlive the File and can be used on any thread.
#pragma once

#include <cstdint>
#include <span>

#include "io/gguf/gguf.hpp"
#include "mlx/array.h"
#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::gguf {

/// MLX's affine layout: element = scale * code + bias with one scale and bias for each group along the last axis.
struct AffineTensor {
  mlx::core::array codes;  ///< uint32 words, the lowest bits first: the last axis is bits/32 of the tensor's
  mlx::core::array scales;
  mlx::core::array biases;
  int bits = 0;
  int group_size = 0;
};

struct AffineOptions {
  /// float32, float16 or bfloat16. float32 and float16 hold every scale of a file exactly; a bias that float16 cannot
  /// hold is an error. bfloat16 rounds.
  DType scales = DType::float32;

  /// Row i of the result is row rows[i] of the tensor; must name each row once. Empty leaves the order. The rows of all
  /// leading axes are counted as one.
  std::span<const std::int64_t> rows = {};
};

/// Repacks Q4_0, Q4_1 or Q8_0 block by block. (MLX's own functions want two axes or more.)
Result<AffineTensor> to_affine(const File& file, const Tensor& tensor, const AffineOptions& options = {});

/// Copies a tensor of a plain type (F32, F16, BF16, F64, I8 to I64). `rows` as above; a vector's elements are its rows.
Result<mlx::core::array> to_array(const File& file, const Tensor& tensor, std::span<const std::int64_t> rows = {});

}  // namespace reprise::gguf
