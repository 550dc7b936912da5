#include "ops/reduce/reduce.native.hpp"

#include <algorithm>

#include "backends/native/kernels/reduce_float.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

/// A dense operand as (outer, size, inner), where `size` is reduced.
struct Reduced {
  View x;
  std::int64_t outer = 1, size = 1, inner = 1;

  std::string describe(std::string_view op) const {
    return fmt::format("{} {} {}x{}x{}, over the middle", op, short_name(x.type.dtype), outer, size, inner);
  }
};

Reduced as_reduced(OpPlanner& op, const std::vector<bool>& gone) {
  View x = op.dense(0);
  const std::size_t rank = gone.size();
  // Reduced axes that lie together need no move; axes of one element do not count.
  std::size_t first = rank, last = 0;
  for (std::size_t a = 0; a < rank; ++a) {
    if (!gone[a] || x.type.shape[a] == 1) continue;
    first = std::min(first, a);
    last = a;
  }
  bool together = true;
  for (std::size_t a = first; a <= last && a < rank; ++a) together = together && (gone[a] || x.type.shape[a] == 1);
  Reduced out;
  if (first == rank) {  // nothing but axes of one element
    out.inner = x.size();
    out.x = std::move(x);
    return out;
  }
  if (!together) {
    View moved = op[0];
    std::size_t k = 0;
    for (const bool wanted : {false, true}) {
      for (std::size_t a = 0; a < rank; ++a) {
        if (gone[a] != wanted) continue;
        moved.type.shape[k] = x.type.shape[a];
        moved.strides[k] = x.strides[a];
        (wanted ? out.size : out.outer) *= x.type.shape[a];
        ++k;
      }
    }
    moved.slot = x.slot;
    moved.offset = x.offset;
    out.x = op.dense(moved);
    return out;
  }
  for (std::size_t a = 0; a < rank; ++a) {
    (a < first ? out.outer : a <= last ? out.size : out.inner) *= x.type.shape[a];
  }
  out.x = std::move(x);
  return out;
}

class ReduceStep final : public Step {
 public:
  ReduceStep(const ReduceKernel& kernel, Reduced from, View to, View scratch, std::string_view name)
      : kernel_(kernel), from_(std::move(from)), to_(std::move(to)), scratch_(std::move(scratch)), name_(name) {}

  Status run(const Frame& frame) const override {
    reduce(kernel_, frame.at(from_.x), frame.at(to_), from_.outer, from_.size, from_.inner, size_of(from_.x.type.dtype),
           size_of(to_.type.dtype), frame.at(scratch_), frame.threads());
    return {};
  }
  std::string describe() const override { return from_.describe(name_); }

 private:
  ReduceKernel kernel_;
  Reduced from_;
  View to_, scratch_;
  std::string_view name_;
};

class ArgReduceStep final : public Step {
 public:
  ArgReduceStep(const ArgReduceKernel& kernel, Reduced from, View to, std::string_view name)
      : kernel_(kernel), from_(std::move(from)), to_(std::move(to)), name_(name) {}

  Status run(const Frame& frame) const override {
    const std::byte* x = frame.at(from_.x);
    auto* out = frame.at<std::uint32_t>(to_);
    const auto bytes = static_cast<std::int64_t>(size_of(from_.x.type.dtype));
    const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / (from_.size * bytes));
    if (from_.inner == 1) {
      parallel_for(frame.threads(), from_.outer, grain,
                   [&](std::int64_t begin, std::int64_t end) { kernel_.rows(x, out, from_.size, 1, begin, end); });
      return {};
    }
    for (std::int64_t o = 0; o < from_.outer; ++o) {
      parallel_for(frame.threads(), from_.inner, std::max<std::int64_t>(64, grain),
                   [&](std::int64_t begin, std::int64_t end) {
                     kernel_.columns(x + o * from_.size * from_.inner * bytes, out + o * from_.inner, from_.size,
                                     from_.inner, begin, end);
                   });
    }
    return {};
  }
  std::string describe() const override { return from_.describe(name_); }

 private:
  ArgReduceKernel kernel_;
  Reduced from_;
  View to_;
  std::string_view name_;
};

}  // namespace

Decision plan_reduce(OpPlanner& op, const ops::ReduceAttrs& attrs, ReduceKind kind) {
  const bool truth = kind == ReduceKind::all || kind == ReduceKind::any;
  if (attrs.axes.empty() && !truth) {
    op.set_view(op[0]);
    return {};
  }
  if (attrs.axes.empty()) {
    op.set_view(op.cast(op[0], DType::bool_));
    return {};
  }
  // A sum of complex numbers is one of two columns of real ones.
  const bool pairs = kind == ReduceKind::sum && op[0].type.dtype == DType::complex64;
  const DType dtype = pairs ? DType::float32 : op[0].type.dtype;
  const ReduceKernel kernel = dtype == DType::float32 ? float_reduce_kernel(kind) : reduce_kernel(kind, dtype);
  if (!kernel.rows) return decline("complex");
  std::vector<bool> gone(op[0].type.shape.size());
  for (const auto axis : attrs.axes) gone[axis_of(axis, gone.size())] = true;
  Reduced from = as_reduced(op, gone);
  View to = op.result();
  if (pairs) {
    from.inner *= 2;
    from.x.type.dtype = to.type.dtype = DType::float32;
    from.x.offset *= 2;
    to.offset *= 2;
  }
  View scratch = to;
  if (from.outer * from.inner == 1 && from.size > kReduceChunk) {
    scratch = op.scratch({DType::uint64, {(from.size + kReduceChunk - 1) / kReduceChunk}});
  }
  const View x = from.x;
  op.add(std::make_unique<ReduceStep>(kernel, std::move(from), to, scratch, op.def().name), {x}, {to, scratch});
  return {};
}

Decision plan_arg_reduce(OpPlanner& op, const ops::ArgReduceAttrs& attrs, bool greatest) {
  const ArgReduceKernel kernel = arg_reduce_kernel(greatest, op[0].type.dtype);
  if (!kernel.rows) return decline("complex");
  const bool flat = attrs.axis < 0;
  std::vector<bool> gone(op[0].type.shape.size(), flat);
  if (!flat) gone[static_cast<std::size_t>(attrs.axis)] = true;
  Reduced from = as_reduced(op, gone);
  const View to = op.result();
  const View x = from.x;
  op.add(std::make_unique<ArgReduceStep>(kernel, std::move(from), to, op.def().name), {x}, {to});
  return {};
}

}  // namespace reprise::native
