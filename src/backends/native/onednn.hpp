// oneDNN behind steps. Its primitives are made at plan time, each for a single thread: a product or convolution is cut
// into parts that the pool's threads take, since oneDNN's own teams (OpenMP) spin, and collapse on a busy machine.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "backends/native/native.hpp"

namespace reprise::native {

const dnnl::engine& dnnl_engine();

/// Its name of a dtype, or nothing when it has none.
std::optional<dnnl::memory::data_type> dnnl_type(DType dtype);

/// While it lives, oneDNN makes and runs primitives for one thread, on this thread.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// An argument of a primitive: which, how it lies, and where.
struct DnnlArgument {
  int index = 0;  ///< DNNL_ARG_SRC and the like
  dnnl::memory::desc desc;
  View view;
};

/// A primitive over views. Their data begin at the views' first elements.
struct DnnlPart {
  dnnl::primitive primitive;
  std::vector<DnnlArgument> arguments;
};

/// Multiplications below which a part is not worth another thread (about 10 us).
inline constexpr std::int64_t kWorthAPart = 512 * 1024;

/// Attributes of a primitive whose working memory is the plan's.
dnnl::primitive_attr attributes();
/// Adds that memory to the arguments.
void add_scratchpad(OpPlanner& op, const dnnl::memory::desc& desc, std::vector<DnnlArgument>& arguments);

/// Adds a step that executes parts that do not depend on each other. Sources and weights are read, the rest is written.
void add_dnnl_step(OpPlanner& op, std::vector<DnnlPart> parts, std::string text);

/// What a view shows of an array, in the order that a primitive wants, as bytes; made once.
mlx::core::array reordered(const mlx::core::array& from, const View& view, const dnnl::memory::desc& from_desc,
                           const dnnl::memory::desc& to_desc);

}  // namespace reprise::native
