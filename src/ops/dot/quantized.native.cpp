#include "ops/dot/quantized.native.hpp"

#include <limits>

#include "backends/native/kernels/floats.hpp"
#include "backends/native/kernels/quantized.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

class QuantizedStep final : public Step {
 public:
  struct Operands {
    View x, codes, scales, biases, out;
    std::optional<View> x_floats, out_floats;  // for other dtypes
  };

  QuantizedStep(Operands operands, std::int64_t m, const QuantizedMatrix& matrix, bool transpose)
      : o_(std::move(operands)), m_(m), matrix_(matrix), transpose_(transpose) {}

  Status run(const Frame& frame) const override {
    const auto* x = frame.at<const float>(o_.x);
    if (o_.x_floats) {
      auto* converted = frame.at<float>(*o_.x_floats);
      to_floats(frame.at(o_.x), o_.x.type.dtype, converted, o_.x.size(), frame.threads());
      x = converted;
    }
    QuantizedMatrix w = matrix_;
    w.codes = frame.at<const std::uint32_t>(o_.codes);
    w.scales = frame.at(o_.scales);
    w.biases = frame.at(o_.biases);
    auto* out = frame.at<float>(o_.out_floats ? *o_.out_floats : o_.out);
    if (transpose_) {
      quantized_product(x, m_, w, out, frame.threads());
    } else {
      quantized_product_plain(x, m_, w, out, frame.threads());
    }
    if (o_.out_floats) from_floats(out, o_.out.type.dtype, frame.at(o_.out), o_.out.size(), frame.threads());
    return {};
  }

  std::string describe() const override {
    const std::int64_t n = transpose_ ? matrix_.rows : matrix_.columns;
    const std::int64_t k = transpose_ ? matrix_.columns : matrix_.rows;
    return fmt::format("quantized product {} {}x{}x{}, {} bits in groups of {}", name(o_.out.type.dtype), m_, n, k,
                       matrix_.bits, matrix_.group);
  }

 private:
  Operands o_;
  std::int64_t m_;
  QuantizedMatrix matrix_;
  bool transpose_;
};

}  // namespace

Decision plan_quantized_matmul(OpPlanner& op, const ops::QuantizedMatmulAttrs& attrs) {
  if (attrs.mode != ops::QuantMode::affine) return decline("only affine codes have a kernel");
  if (op[1].type.shape.size() != 2) return decline("packed weights with batch axes");
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    const DType d = op[i].type.dtype;
    if (d != DType::float32 && d != DType::float16 && d != DType::bfloat16) {
      return decline(fmt::format("operand {} is {}", i, name(d)));
    }
  }
  QuantizedMatrix w;
  w.bits = static_cast<int>(attrs.bits);
  w.group = static_cast<int>(attrs.group_size);
  w.rows = op[1].type.shape[0];
  w.columns = op[1].type.shape[1] * 32 / attrs.bits;
  w.scale_type = op[2].type.dtype;
  w.bias_type = op[3].type.dtype;
  QuantizedStep::Operands o;
  o.x = op.dense(0);
  o.codes = op.dense(1);
  o.scales = op.dense(2);
  o.biases = op.dense(3);
  o.out = op.result();
  const std::int64_t m = o.x.size() / o.x.type.shape.back();
  if (o.x.type.dtype != DType::float32) o.x_floats = op.scratch({DType::float32, o.x.type.shape});
  if (o.out.type.dtype != DType::float32) o.out_floats = op.scratch({DType::float32, o.out.type.shape});
  auto step = std::make_unique<QuantizedStep>(o, m, w, attrs.transpose);
  if (o.x_floats) step->writes.push_back(o.x_floats->slot);
  if (o.out_floats) step->writes.push_back(o.out_floats->slot);
  op.add(std::move(step), {o.x, o.codes, o.scales, o.biases}, {o.out});
  return {};
}

}  // namespace reprise::native
