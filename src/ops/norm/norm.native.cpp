#include "ops/norm/norm.native.hpp"

#include "backends/native/kernels/norm.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

Decision declined_dtypes(OpPlanner& op) {
  for (std::size_t i = 0; i < op.size(); ++i) {
    const DType d = op[i].type.dtype;
    if (d != DType::float32 && d != DType::float16 && d != DType::bfloat16) {
      return decline(fmt::format("operand {} is {}", i, name(d)));
    }
  }
  return {};
}

FloatArray array_at(const Frame& frame, const View& v) { return {frame.at(v), v.type.dtype}; }

class NormStep final : public Step {
 public:
  NormStep(View x, View weight, std::optional<View> bias, View out, float eps, bool centre)
      : x_(std::move(x)), weight_(std::move(weight)), bias_(std::move(bias)), out_(std::move(out)) {
    shape_.width = x_.type.shape.back();
    shape_.rows = x_.size() / shape_.width;
    shape_.eps = eps;
    shape_.centre = centre;
    shape_.out_type = out_.type.dtype;
  }

  Status run(const Frame& frame) const override {
    Normalisation n = shape_;
    n.x = array_at(frame, x_);
    n.weight = array_at(frame, weight_);
    if (bias_) n.bias = array_at(frame, *bias_);
    n.out = frame.at(out_);
    normalise(n, frame.threads());
    return {};
  }

  std::string describe() const override {
    return fmt::format("{} norm {}", shape_.centre ? "layer" : "rms", to_string(out_.type));
  }

 private:
  View x_, weight_;
  std::optional<View> bias_;
  View out_;
  Normalisation shape_;
};

class SwigluStep final : public Step {
 public:
  SwigluStep(View gate, View up, View out) : gate_(std::move(gate)), up_(std::move(up)), out_(std::move(out)) {}

  Status run(const Frame& frame) const override {
    swiglu(array_at(frame, gate_), array_at(frame, up_), frame.at(out_), out_.type.dtype, out_.size(), frame.threads());
    return {};
  }

  std::string describe() const override { return fmt::format("swiglu {}", to_string(out_.type)); }

 private:
  View gate_, up_, out_;
};

}  // namespace

Decision plan_norm(OpPlanner& op, const ops::EpsAttrs& attrs, bool centre) {
  if (auto no = declined_dtypes(op)) return no;
  const View x = op.dense(0), weight = op.dense(1), out = op.result();
  std::optional<View> bias;
  if (op.size() > 2) bias = op.dense(2);
  auto step = std::make_unique<NormStep>(x, weight, bias, out, static_cast<float>(attrs.eps), centre);
  if (bias) step->reads.push_back(bias->slot);
  op.add(std::move(step), {x, weight}, {out});
  return {};
}

Decision plan_swiglu(OpPlanner& op) {
  if (auto no = declined_dtypes(op)) return no;
  if (op[0].type.shape != op[1].type.shape) return decline("shapes that broadcast");
  const View gate = op.dense(0), up = op.dense(1), out = op.result();
  op.add(std::make_unique<SwigluStep>(gate, up, out), {gate, up}, {out});
  return {};
}

}  // namespace reprise::native
