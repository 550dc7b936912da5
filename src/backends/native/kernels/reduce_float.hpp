// Reductions of float32.
#pragma once

#include "backends/native/kernels/reduce.hpp"

namespace reprise::native {

/// What reduce_kernel(kind, DType::float32) gives, faster: the same bits.
ReduceKernel float_reduce_kernel(ReduceKind kind);

}  // namespace reprise::native
