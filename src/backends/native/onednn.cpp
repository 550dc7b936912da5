#include "backends/native/onednn.hpp"

#include <omp.h>

#include "backends/native/pool.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

/// A part with memory objects, whose addresses a replay sets.
class BoundPart {
 public:
  explicit BoundPart(const DnnlPart& part) {
    for (const DnnlArgument& a : part.arguments) {
      memories_.emplace_back(a.desc, dnnl_engine(), static_cast<void*>(nullptr));
      arguments_.push_back({a.index, memories_.back().get()});
    }
  }

  void run(const DnnlPart& part, const Frame& frame) {
    thread_local const dnnl::stream stream(dnnl_engine());
    const OneThread one;
    for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i].set_data_handle(frame.at(part.arguments[i].view));
    dnnl::error::wrap_c_api(dnnl_primitive_execute(part.primitive.get(), stream.get(),
                                                   static_cast<int>(arguments_.size()), arguments_.data()),
                            "could not execute a primitive");
  }

 private:
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

class DnnlStep final : public Step {
 public:
  DnnlStep(std::vector<DnnlPart> parts, std::string text) : parts_(std::move(parts)), text_(std::move(text)) {}

  Status run(const Frame& frame) const override {
    try {
      auto bound = pool_.take();
      if (!bound) bound = std::make_unique<std::vector<BoundPart>>(parts_.begin(), parts_.end());
      parallel_parts(frame.threads(), static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
        const auto i = static_cast<std::size_t>(p);
        (*bound)[i].run(parts_[i], frame);
      });
      pool_.give_back(std::move(bound));
    } catch (const dnnl::error& e) {
      return make_error(ErrorCode::runtime, "run: {}: oneDNN: {}", text_, e.what());
    }
    return {};
  }

  std::string describe() const override { return text_; }

 private:
  std::vector<DnnlPart> parts_;
  std::string text_;
  mutable Pool<std::vector<BoundPart>> pool_;
};

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

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

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr out;
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

void add_scratchpad(OpPlanner& op, const dnnl::memory::desc& desc, std::vector<DnnlArgument>& arguments) {
  const auto bytes = static_cast<std::int64_t>(desc.get_size());
  if (bytes > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, desc, op.scratch({DType::uint8, {bytes}})});
}

void add_dnnl_step(OpPlanner& op, std::vector<DnnlPart> parts, std::string text) {
  std::vector<View> reads, writes;
  for (const DnnlPart& part : parts) {
    for (const DnnlArgument& a : part.arguments) {
      const bool is_read = a.index == DNNL_ARG_SRC || a.index == DNNL_ARG_WEIGHTS;
      (is_read ? reads : writes).push_back(a.view);
    }
  }
  if (parts.size() > 1) text += fmt::format(" in {} parts", parts.size());
  op.add(std::make_unique<DnnlStep>(std::move(parts), std::move(text)), reads, writes);
}

mx::array reordered(const mx::array& from, const View& view, const dnnl::memory::desc& from_desc,
                    const dnnl::memory::desc& to_desc) {
  const OneThread one;
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
