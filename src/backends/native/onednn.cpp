#include "backends/native/onednn.hpp"

#include <omp.h>

#include <unordered_map>

#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

class DnnlStep final : public Step {
 public:
  DnnlStep(dnnl::primitive primitive, std::vector<DnnlArgument> arguments, std::string text)
      : primitive_(std::move(primitive)), arguments_(std::move(arguments)), text_(std::move(text)) {}

  Status run(const Frame& frame) const override {
    thread_local dnnl::stream stream(dnnl_engine());
    omp_set_num_threads(frame.threads());
    try {
      std::unordered_map<int, dnnl::memory> bound;
      for (const DnnlArgument& a : arguments_) {
        bound.emplace(a.index, dnnl::memory(a.desc, dnnl_engine(), frame.at(a.view)));
      }
      primitive_.execute(stream, bound);
      stream.wait();
    } catch (const dnnl::error& e) {
      return make_error(ErrorCode::runtime, "run: {}: oneDNN: {}", text_, e.what());
    }
    return {};
  }

  std::string describe() const override { return text_; }

 private:
  dnnl::primitive primitive_;
  std::vector<DnnlArgument> arguments_;
  std::string text_;
};

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<dnnl::memory::data_type> dnnl_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return dnnl::memory::data_type::f32;
    case DType::bfloat16: return dnnl::memory::data_type::bf16;
    case DType::float16: return dnnl::memory::data_type::f16;
    default: return {};
  }
}

std::unique_ptr<Step> make_dnnl_step(dnnl::primitive primitive, std::vector<DnnlArgument> arguments, std::string text) {
  return std::make_unique<DnnlStep>(std::move(primitive), std::move(arguments), std::move(text));
}

mx::array reordered(const mx::array& from, const View& view, const dnnl::memory::desc& from_desc,
                    const dnnl::memory::desc& to_desc) {
  const std::size_t bytes = to_desc.get_size();
  mx::array to(mx::allocator::malloc(bytes), {static_cast<int>(bytes)}, mx::uint8);
  mx::array source = from;
  dnnl::stream stream(dnnl_engine());
  dnnl::memory a(from_desc, dnnl_engine(),
                 source.data<char>() + view.offset * static_cast<std::int64_t>(from.itemsize()));
  dnnl::memory b(to_desc, dnnl_engine(), to.data<char>());
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
  return to;
}

}  // namespace reprise::native
