// oneDNN behind steps. Its primitives are made at plan time; a replay only binds addresses.
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

/// An argument of a primitive: which, how it lies, and where.
struct DnnlArgument {
  int index = 0;  ///< DNNL_ARG_SRC and the like
  dnnl::memory::desc desc;
  View view;
};

/// Executes a primitive over views. Their data begin at the views' first elements.
std::unique_ptr<Step> make_dnnl_step(dnnl::primitive primitive, std::vector<DnnlArgument> arguments, std::string text);

/// What a view shows of an array, in the order that a primitive wants, as bytes; made once.
mlx::core::array reordered(const mlx::core::array& from, const View& view, const dnnl::memory::desc& from_desc,
                           const dnnl::memory::desc& to_desc);

}  // namespace reprise::native
