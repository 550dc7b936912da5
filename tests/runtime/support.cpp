#include "runtime/support.hpp"

namespace reprise {

const std::string_view kEndless = R"(inputs 1
  const0 = 1 : s32
  %0 = while in0 {
    cond {
      %0 = equal carry0, carry0
      return %0
    }
    body {
      %0 = add carry0, const0
      return %0
    }
  }
  return %0
)";
namespace {

namespace mx = mlx::core;

mx::Shape narrow(const Shape& shape) { return mx::Shape(shape.begin(), shape.end()); }

}  // namespace

array floats(const Shape& shape, const std::vector<float>& values) {
  return array(values.data(), narrow(shape), mx::float32);
}
array floats(const std::vector<float>& values) { return floats({static_cast<std::int64_t>(values.size())}, values); }
array filled(const Shape& shape, float value) {
  return floats(shape, std::vector<float>(static_cast<std::size_t>(*element_count(shape)), value));
}
array scalar(float value) { return array(value, mx::float32); }
array integer(std::int32_t value) { return array(value, mx::int32); }

std::vector<double> values(const array& x) {
  array wide = mx::contiguous(mx::astype(x, mx::float64, mx::Device::cpu), false, mx::Device::cpu);
  wide.eval();
  return std::vector<double>(wide.data<double>(), wide.data<double>() + wide.size());
}

Executable compiled(std::string_view text, const CompileOptions& options, const std::vector<Capture>& captures) {
  return compile(parse_program("reprise 1\n" + std::string(text), captures).value(), options).value();
}

Executable compiled(Builder& builder, const Builder::Values& outputs, const CompileOptions& options) {
  return compile(builder.build(outputs).value(), options).value();
}

Arrays run(const Executable& executable, Arrays inputs, const RunOptions& options) {
  return executable.run(std::move(inputs), options).value();
}

std::string run_error(const Executable& executable, Arrays inputs, const RunOptions& options) {
  const auto out = executable.run(std::move(inputs), options);
  return out ? "" : out.error().message();
}

const void* address(const array& x) { return x.data<char>(); }

}  // namespace reprise
