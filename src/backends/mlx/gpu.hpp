// What MLX's CUDA kernels need to be given so that they answer right: found by running the conformance suite there.
#pragma once

#include <span>
#include <vector>

#include "backends/mlx/lowering.hpp"
#include "reprise/status.hpp"

namespace reprise {
class TypedProgram;
struct Device;
}  // namespace reprise

namespace reprise::mlx_backend {

/// Dense, row-major and on a 16-byte boundary: `x` itself where it is so or a kernel will make it so, else a copy.
/// cuDNN, cuFFT and the kernels of attention and quantized products read other layouts wrongly or not at all.
array dense_on_gpu(const array& x, mx::Stream stream);

/// The operands as the op's kernels take them.
std::vector<array> operands_on_gpu(const ops::OpDef& op, std::span<const array> operands, mx::Stream stream);

/// Evaluated arrays of these types when all are empty, else nothing. Kernels that are launched over no elements end
/// with an error or with SIGFPE.
std::vector<array> empty_results(std::span<const TensorType> types);

/// ErrorCode::unsupported, with the place, where a program works in a dtype that the device lacks.
Status check_dtypes(const TypedProgram& typed, const Device& device);

}  // namespace reprise::mlx_backend
