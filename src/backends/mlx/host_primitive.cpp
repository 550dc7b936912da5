#include "backends/mlx/host_primitive.hpp"

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

#include <stdexcept>

namespace reprise::mlx_backend {
namespace {

class HostPrimitive final : public mx::Primitive {
 public:
  HostPrimitive(mx::Stream stream, const char* name, HostFunction function)
      : Primitive(stream), name_(name), function_(std::move(function)) {}

  void eval_cpu(const std::vector<array>& inputs, std::vector<array>& outputs) override {
    // The addresses are taken here, not in the task: on a GPU's machine this is what moves a buffer to the host. MLX
    // keeps the arrays themselves until the task is done.
    std::vector<HostBuffer> operands, results;
    for (const array& in : inputs) operands.push_back(buffer(in));
    for (array& out : outputs) {
      out.set_data(mx::allocator::malloc(out.nbytes()));
      results.push_back(buffer(out));
    }
    mx::cpu::get_command_encoder(stream()).dispatch([function = function_, operands = std::move(operands),
                                                     results = std::move(results)] { function(operands, results); });
  }

  void eval_gpu(const std::vector<array>&, std::vector<array>&) override {
    throw std::logic_error(std::string(name_) + " runs on the CPU only");
  }

  const char* name() const override { return name_; }

 private:
  static HostBuffer buffer(const array& x) { return {const_cast<void*>(x.data<void>()), x.size()}; }

  const char* name_;
  HostFunction function_;
};

}  // namespace

std::vector<array> host_operation(const char* name, HostFunction function, std::vector<array> operands,
                                  std::vector<mx::Shape> shapes, const std::vector<mx::Dtype>& dtypes,
                                  mx::Stream stream) {
  for (array& x : operands) x = mx::contiguous(x, false, stream);
  return array::make_arrays(std::move(shapes), dtypes,
                            std::make_shared<HostPrimitive>(stream, name, std::move(function)), operands);
}

}  // namespace reprise::mlx_backend
