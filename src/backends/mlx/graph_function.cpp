#include "backends/mlx/graph_function.hpp"

#include <mlx/compile_impl.h>

#include <atomic>

#include "backends/mlx/gpu.hpp"

namespace reprise::mlx_backend {
namespace {

std::atomic<std::size_t> live_graphs{0};

class TapeFunction final : public GraphFunction {
 public:
  explicit TapeFunction(Tape tape) : tape_(std::move(tape)) {}
  std::vector<array> call(std::vector<array> inputs) const override {
    require_memory(tape_.peak_bytes());
    return tape_.replay(std::move(inputs));
  }

 private:
  Tape tape_;
};

// MLX keeps compiled graphs in a cache of the thread that called them, by id. The public compile() takes the id from
// the callable's type, which all our functions share; an own id keeps programs apart, and the handle lets any thread
// erase the entry.
class CompiledFunction final : public GraphFunction {
 public:
  CompiledFunction(Tape tape, mx::Stream stream)
      : id_(next_id()), cache_(mx::detail::compile_cache()), stream_(stream) {
    auto shared = std::make_shared<const Tape>(std::move(tape));
    call_ = mx::detail::compile([shared](const std::vector<array>& inputs) { return shared->replay(inputs); }, id_);
    live_graphs.fetch_add(1);
  }

  ~CompiledFunction() override {
    mx::detail::compile_erase(cache_, id_);
    live_graphs.fetch_sub(1);
  }

  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;

  std::vector<array> call(std::vector<array> inputs) const override {
    for (array& in : inputs) in = dense_on_gpu(in, stream_);
    return call_(inputs);
  }

 private:
  static std::uintptr_t next_id() {
    // Far from the addresses that MLX's own compile() uses as ids: no object lies in the lowest page.
    static std::atomic<std::uintptr_t> next{1};
    const std::uintptr_t id = next.fetch_add(2);  // odd: an object's address is even
    return id;
  }

  std::uintptr_t id_;
  mx::detail::CompileCacheWeakPtr cache_;
  mx::Stream stream_;
  std::function<std::vector<array>(const std::vector<array>&)> call_;
};

}  // namespace

std::unique_ptr<const GraphFunction> make_graph_function(Tape tape, const Device& device, mx::Stream stream) {
  if (device.kind == Device::Kind::cpu) return std::make_unique<TapeFunction>(std::move(tape));
  return std::make_unique<CompiledFunction>(std::move(tape), stream);
}

std::size_t live_compiled_graphs() { return live_graphs.load(); }

}  // namespace reprise::mlx_backend
