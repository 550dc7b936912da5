#include "backends/mlx/gpu.hpp"

#include <algorithm>

#include "backends/mlx/tape.hpp"
#include "base/format.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "reprise/executable.hpp"

namespace reprise::mlx_backend {
namespace {

constexpr std::int64_t kAlignment = 16;

bool needs_dense_operands(const ops::OpDef& op) {
  return op.name == "quantized_matmul" || op.family == "fft" || op.family == "conv" || op.name.ends_with("_sinks");
}

bool has_plain_strides(const array& x) {
  std::int64_t stride = 1;
  for (std::size_t axis = x.ndim(); axis-- > 0;) {
    if (x.strides()[axis] != stride) return false;
    stride *= x.shape(static_cast<int>(axis));
  }
  return true;
}

Status refused(std::string_view place, const TensorType& type, const Device& device) {
  return make_error(ErrorCode::unsupported, "compile: {} is {}, and {} has no float64; use float32, or the CPU", place,
                    to_string(type), to_string(device));
}

Status check_list(const VerifiedList& list, const TypedList& types, const Device& device) {
  for (std::size_t i = 0; i < list.instructions.size(); ++i) {
    const VerifiedInstruction& instruction = list.instructions[i];
    for (std::size_t r = 0; r < instruction.result_count; ++r) {
      const TensorType& type = types.results[instruction.first_result + r];
      if (type.dtype == DType::float64) {
        return refused(fmt::format("result {} of instruction {} ({})", r, i, instruction.op->name), type, device);
      }
    }
    for (std::size_t s = 0; s < instruction.subprograms.size(); ++s) {
      const Status inner = check_list(instruction.subprograms[s], types.subprograms[i][s], device);
      if (!inner) return inner.error().with_context(fmt::format("in a list of instruction {}", i));
    }
  }
  return {};
}

}  // namespace

array dense_on_gpu(const array& x, mx::Stream stream) {
  if (x.size() == 0) return x;
  // Kernels also look at the strides of axes of one element, where any would do.
  const auto plain = [&](const array& y) {
    return mx::reshape(mx::reshape(y, {static_cast<mx::ShapeElem>(x.size())}, stream), x.shape(), stream);
  };
  if (x.is_available()) {
    if (x.flags().row_contiguous && x.offset() % kAlignment == 0) return has_plain_strides(x) ? x : plain(x);
  } else if (!x.has_primitive() || !is_view(x.primitive())) {
    return x;
  }
  // A selection always writes a buffer of its own, where contiguous() alone would keep an odd start; it keeps the
  // layout of an operand that is stored once and repeated, which contiguous() does not.
  return plain(mx::contiguous(mx::where(scalar(1, mx::bool_), x, x, stream), false, stream));
}

std::vector<array> operands_on_gpu(const ops::OpDef& op, std::span<const array> operands, mx::Stream stream) {
  std::vector<array> out(operands.begin(), operands.end());
  if (!needs_dense_operands(op)) return out;
  for (array& x : out) x = dense_on_gpu(x, stream);
  return out;
}

std::vector<array> empty_results(std::span<const TensorType> types) {
  const auto is_empty = [](const TensorType& t) { return element_count(t.shape) == 0; };
  std::vector<array> out;
  if (!std::all_of(types.begin(), types.end(), is_empty)) return out;
  for (const TensorType& t : types) out.emplace_back(mx::allocator::malloc(0), to_mlx(t.shape), to_mlx(t.dtype));
  return out;
}

Status check_dtypes(const TypedProgram& typed, const Device& device) {
  const ProgramData& data = typed.program().data();
  for (std::size_t i = 0; i < typed.inputs().size(); ++i) {
    if (typed.inputs()[i].dtype == DType::float64)
      return refused(fmt::format("input {}", i), typed.inputs()[i], device);
  }
  for (std::size_t i = 0; i < data.captures.size(); ++i) {
    const TensorType type = type_of(*data.captures[i].value);
    if (type.dtype == DType::float64) return refused(fmt::format("capture {}", i), type, device);
  }
  return check_list(typed.verified().list(), typed.types(), device);
}

}  // namespace reprise::mlx_backend
