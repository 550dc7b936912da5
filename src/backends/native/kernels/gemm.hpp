// Matrix products that are too small or too thin for oneDNN: C = A B, over a batch.
#pragma once

#include <cstdint>

namespace reprise::native {

/// Sizes and strides (in elements) of one product; A is (batch, m, k), B (batch, k, n), C (batch, m, n).
struct GemmShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t a_batch = 0, a_m = 0, a_k = 0;
  std::int64_t b_batch = 0, b_k = 0, b_n = 0;
  std::int64_t c_batch = 0, c_m = 0;  ///< rows of C are contiguous
};

/// Each element of C is one sum over k in order of k (b_n = 1), or of a fixed number of partial sums (b_k = 1): the
/// same bits for any number of threads. One of b_n and b_k is 1. float and double.
void gemm(const float* a, const float* b, float* c, const GemmShape& shape, int threads);
void gemm(const double* a, const double* b, double* c, const GemmShape& shape, int threads);

}  // namespace reprise::native
