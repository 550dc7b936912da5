#include "ops/window/window.native.hpp"

#include <algorithm>

#include "backends/native/kernels/floats.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

/// That a thread keeps at once.
constexpr std::int64_t kMostElements = 1 << 20;

bool is_left_alone(const WindowAxis& a) {
  return a.window == 1 && a.low == 0 && a.count == a.size && (a.stride == 1 || a.count == 1);
}

// Axes that windows leave alone: the last ones become `inner`.
template <typename Attrs>
WindowShape shape_of(const Attrs& attrs, const Shape& x, const Shape& counts) {
  WindowShape out;
  for (std::size_t a = 0; a < x.size(); ++a) {
    WindowAxis axis{x[a], attrs.low[a], attrs.high[a], attrs.strides[a], attrs.sizes[a], 1, counts[a]};
    if constexpr (std::is_same_v<Attrs, ops::WindowAttrs>) axis.dilation = attrs.dilations[a];
    out.axes.push_back(axis);
  }
  while (!out.axes.empty() && is_left_alone(out.axes.back())) {
    out.inner *= out.axes.back().size;
    out.axes.pop_back();
  }
  return out;
}

// MLX folds large windows that overlap in a logarithmic number of passes, one axis after the other.
Decision declined_windows(const WindowShape& shape, double cost, std::int64_t elements) {
  for (const WindowAxis& a : shape.axes) {
    const std::int64_t reach = (a.window - 1) * a.dilation + 1;
    if (reach * shape.inner > kMostElements) return decline(fmt::format("windows that reach over {} elements", reach));
  }
  if (shape.taps() > kMostElements || (shape.taps() > 64 && cost > 64 * static_cast<double>(elements))) {
    return decline(fmt::format("windows of {} elements that overlap", shape.taps()));
  }
  return {};
}

std::string describe_shape(const WindowShape& shape) {
  std::vector<std::string> axes;
  for (const WindowAxis& a : shape.axes) {
    std::string text = fmt::format("{} of {}", a.window, a.size);
    if (a.stride != 1) text += fmt::format(" by {}", a.stride);
    if (a.dilation != 1) text += fmt::format(" dilated by {}", a.dilation);
    axes.push_back(std::move(text));
  }
  return fmt::format("windows {}{}", fmt::join(axes, " x "),
                     shape.inner == 1 ? "" : fmt::format(", {} inner", shape.inner));
}

class WindowStep final : public Step {
 public:
  WindowStep(WindowFn kernel, WindowShape shape, View x, View out, std::string_view name)
      : kernel_(kernel), shape_(std::move(shape)), x_(std::move(x)), out_(std::move(out)), name_(name) {}

  Status run(const Frame& frame) const override {
    window(kernel_, shape_, frame.at(x_), frame.at(out_), frame.threads());
    return {};
  }
  std::string describe() const override {
    return fmt::format("{} {}, {}", name_, to_string(out_.type), describe_shape(shape_));
  }

 private:
  WindowFn kernel_;
  WindowShape shape_;
  View x_, out_;
  std::string_view name_;
};

class WindowScatterStep final : public Step {
 public:
  WindowScatterStep(WindowScatterFn kernel, std::int64_t outer, WindowShape shape, View x, View source, View init,
                    View sums, View out, std::string_view name)
      : kernel_(kernel),
        outer_(outer),
        shape_(std::move(shape)),
        x_(std::move(x)),
        source_(std::move(source)),
        init_(std::move(init)),
        sums_(std::move(sums)),
        out_(std::move(out)),
        name_(name) {}

  Status run(const Frame& frame) const override {
    const std::int64_t each = shape_.outputs() / shape_.inner * shape_.taps();
    const std::int64_t x_part = x_.size() / outer_, source_part = source_.size() / outer_;
    const auto part = [&](std::int64_t o, std::int64_t begin, std::int64_t end) {
      const auto bytes = static_cast<std::int64_t>(size_of(x_.type.dtype));
      const auto sum_bytes = static_cast<std::int64_t>(size_of(sums_.type.dtype));
      kernel_(shape_, frame.at(x_) + o * x_part * bytes, frame.at(source_) + o * source_part * bytes, frame.at(init_),
              frame.at(sums_) + o * x_part * sum_bytes, begin, end);
    };
    if (outer_ > 1) {
      parallel_for(frame.threads(), outer_, std::max<std::int64_t>(1, kParallelGrain / (each * shape_.inner)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t o = begin; o < end; ++o) part(o, 0, shape_.inner);
                   });
    } else {
      // Windows that overlap add to one element: only the elements that they leave can be shared out.
      parallel_for(frame.threads(), shape_.inner, std::max<std::int64_t>(64, kParallelGrain / each),
                   [&](std::int64_t begin, std::int64_t end) { part(0, begin, end); });
    }
    if (sums_.slot != out_.slot) {
      from_floats(frame.at<float>(sums_), out_.type.dtype, frame.at(out_), out_.size(), frame.threads());
    }
    return {};
  }
  std::string describe() const override {
    return fmt::format("{} {}, {}", name_, to_string(out_.type), describe_shape(shape_));
  }

 private:
  WindowScatterFn kernel_;
  std::int64_t outer_;  ///< independent parts of all operands
  WindowShape shape_;
  View x_, source_, init_, sums_, out_;
  std::string_view name_;
};

}  // namespace

Decision plan_window(OpPlanner& op, const ops::WindowAttrs& attrs, WindowKind kind) {
  const WindowFn kernel = window_kernel(kind, op[0].type.dtype);
  if (!kernel) return decline("no kernel for this dtype");
  WindowShape shape = shape_of(attrs, op[0].type.shape, op.result_type().shape);
  if (auto no = declined_windows(shape, window_cost(shape), op[0].size() + shape.outputs())) return no;
  const View x = op.dense(0), out = op.result();
  op.add(std::make_unique<WindowStep>(kernel, std::move(shape), x, out, op.def().name), {x}, {out});
  return {};
}

Decision plan_window_scatter(OpPlanner& op, const ops::WindowScatterAttrs& attrs, bool greatest) {
  const DType dtype = op[0].type.dtype;
  const WindowScatterFn kernel = window_scatter_kernel(greatest, dtype);
  if (!kernel) return decline("booleans");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (op[i].type.dtype != dtype) {
      return decline(fmt::format("x is {}, operand {} is {}", name(dtype), i, name(op[i].type.dtype)));
    }
  }
  WindowShape shape = shape_of(attrs, op[0].type.shape, op[1].type.shape);
  const double cost = static_cast<double>(shape.taps()) * static_cast<double>(shape.outputs());
  if (auto no = declined_windows(shape, cost, op[0].size() + shape.outputs())) return no;
  std::int64_t outer = 1;
  while (!shape.axes.empty() && is_left_alone(shape.axes.front())) {
    outer *= shape.axes.front().size;
    shape.axes.erase(shape.axes.begin());
  }
  const View x = op.dense(0), source = op.dense(1), init = op.dense(2), out = op.result();
  const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
  const View sums = is_half ? op.scratch({DType::float32, op[0].type.shape}) : out;
  op.add(
      std::make_unique<WindowScatterStep>(kernel, outer, std::move(shape), x, source, init, sums, out, op.def().name),
      {x, source, init}, {out, sums});
  return {};
}

}  // namespace reprise::native
