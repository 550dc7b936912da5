#include "conformance/reference.hpp"

#include "program/mlx_convert.hpp"

namespace reprise::conformance {

Tensor tensor(const Shape& shape, const std::vector<double>& values, DType d) {
  Tensor out{shape, {}, movement::make(shape, values, d)};
  for (const auto& n : movement::elements(out.data)) out.values.push_back(n.re + static_cast<double>(n.i));
  return out;
}

Tensor random_tensor(const Shape& shape, DType d, unsigned seed, double low, double high) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  std::vector<double> values;
  for (std::int64_t k = 0; k < movement::count(shape); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(low + (high - low) * static_cast<double>(state >> 40) / static_cast<double>(1 << 24));
  }
  return tensor(shape, values, d);
}

std::vector<array> run_op(std::string_view name, const Builder::Attrs& attrs, const std::vector<Tensor>& operands,
                          std::size_t layout) {
  Builder b;
  Builder::Values values;
  std::vector<array> inputs;
  for (const Tensor& t : operands) {
    values.push_back(b.input());
    const auto all = movement::layouts(t.data);
    inputs.push_back(all[layout % all.size()]);
  }
  const Program program = b.build(b.ops(name, values, attrs)).value();
  return compile(program, OnDevice::target()).value().run(std::move(inputs)).value();
}

testing::AssertionResult agrees(std::string_view op, const array& seen, DType d, const Shape& shape,
                                const std::vector<double>& wanted, double extra) {
  const ops::Tolerance& tolerance = ops::find_def(op)->tolerance;
  const TensorType type{d, shape};
  if (type_of(seen) != type) {
    return testing::AssertionFailure() << to_string(type_of(seen)) << ", wanted " << to_string(type);
  }
  const auto values = movement::elements(seen);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double s = values[k].re;
    const double w = wanted[k];
    const double allowed = tolerance.allowed(d, std::abs(w)) + extra * std::max(1.0, std::abs(w));
    const bool fits = std::isnan(w) ? std::isnan(s) : s == w || std::abs(s - w) <= allowed;
    if (!fits) return testing::AssertionFailure() << "element " << k << " is " << s << ", wanted " << w;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult agrees(std::string_view op, const array& seen, DType d, const Shape& shape,
                                const std::function<double(const Shape& index)>& wanted, double extra) {
  std::vector<double> values;
  movement::each(shape, [&](const Shape& index, std::size_t) { values.push_back(wanted(index)); });
  return agrees(op, seen, d, shape, values, extra);
}

std::vector<DType> floats() {
  std::vector<DType> out{DType::float16, DType::bfloat16, DType::float32};
  if (OnDevice::target().device == Device::cpu()) out.push_back(DType::float64);
  return out;
}

}  // namespace reprise::conformance
