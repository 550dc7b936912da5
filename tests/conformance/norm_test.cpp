// Norms and the gated activation against their definitions in double precision.
#include "conformance/reference.hpp"

namespace reprise::conformance {
namespace {

// Short rows take other GPU launches than long ones.
const Shape kShapes[] = {{1}, {2}, {3, 1}, {4, 3}, {2, 2, 31}, {3, 64}, {2, 257}, {2, 4099}};

struct Norm {
  std::string_view name;
  bool centred;
  bool bias;
};
constexpr Norm kNorms[] = {
    {"fast_rms_norm", false, false}, {"fast_layer_norm", true, true}, {"fast_layer_norm_no_bias", true, false}};

void check(const Norm& norm, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, double extra = 0) {
  std::vector<Tensor> operands{x, weight};
  if (norm.bias) operands.push_back(bias);
  const auto n = static_cast<double>(x.shape.back());
  const auto row = [&](const Shape& at, const auto& f) {
    Shape index = at;
    double total = 0;
    for (index.back() = 0; index.back() < x.shape.back(); ++index.back()) total += f(x(index));
    return total / n;
  };
  DType d = promote(x.dtype(), weight.dtype());
  if (norm.bias) d = promote(d, bias.dtype());
  for (std::size_t layout = 0; layout < 5; ++layout) {
    const array y = run_op(norm.name, {{"eps", eps}}, operands, layout)[0];
    Shape known;  // the row whose sums these are
    double mean = 0, square = 0;
    const auto wanted = [&](const Shape& at) {
      const Shape which(at.begin(), at.end() - 1);
      if (known != which || at.back() == 0) {
        known = which;
        mean = norm.centred ? row(at, [](double v) { return v; }) : 0;
        square = row(at, [&](double v) { return (v - mean) * (v - mean); });
      }
      const double scaled = (x(at) - mean) / std::sqrt(square + eps) * weight({at.back()});
      return norm.bias ? scaled + bias({at.back()}) : scaled;
    };
    EXPECT_TRUE(agrees(norm.name, y, d, x.shape, wanted, extra))
        << norm.name << " " << to_string(type_of(x.data)) << " eps " << eps << " layout " << layout;
  }
}

class Norms : public OnDevice {};
REPRISE_ON_EACH_DEVICE(Norms);

TEST_P(Norms, EveryShapeAndDType) {
  for (const Norm& norm : kNorms) {
    for (const DType d : floats()) {
      for (const Shape& shape : kShapes) {
        const Tensor x = random_tensor(shape, d, 1, -3, 3);
        const Tensor weight = random_tensor({shape.back()}, d, 2);
        const Tensor bias = random_tensor({shape.back()}, d, 3);
        for (const double eps : {1e-5, 0.5}) check(norm, x, weight, bias, eps);
      }
    }
  }
}

TEST_P(Norms, MixedDTypes) {
  for (const Norm& norm : kNorms) {
    for (const DType a : floats()) {
      for (const DType b : floats()) {
        const Tensor x = random_tensor({3, 7}, a, 1, -3, 3);
        check(norm, x, random_tensor({7}, b, 2), random_tensor({7}, a, 3), 1e-5);
      }
    }
  }
}

// A mean far from zero must not eat the variance, nor may squares overflow half precision. The mean is a float32 sum of
// 64 thousands, good to some 1e-4; a variance from mean(x^2) - mean(x)^2 would be off by tenths.
TEST_P(Norms, FarFromZero) {
  for (const Norm& norm : kNorms) {
    const Tensor x = random_tensor({4, 64}, DType::float32, 1, 999, 1001);
    check(norm, x, random_tensor({64}, DType::float32, 2), random_tensor({64}, DType::float32, 3), 1e-5, 3e-3);
    const Tensor large = random_tensor({2, 64}, DType::float16, 4, -60000, 60000);
    check(norm, large, random_tensor({64}, DType::float16, 2), random_tensor({64}, DType::float16, 3), 1e-5);
  }
}

TEST_P(Norms, Swiglu) {
  for (const DType a : floats()) {
    for (const DType b : floats()) {
      const Tensor gate = random_tensor({3, 1, 5}, a, 1, -20, 20);
      const Tensor up = random_tensor({4, 1}, b, 2, -3, 3);
      const DType d = promote(a, b);
      for (std::size_t layout = 0; layout < 5; ++layout) {
        const array y = run_op("fast_swiglu", {}, {gate, up}, layout)[0];
        EXPECT_TRUE(agrees("fast_swiglu", y, d, {3, 4, 5},
                           [&](const Shape& at) {
                             const double g = gate({at[0], 0, at[2]});
                             return g / (1 + std::exp(-g)) * up({at[1], 0});
                           }))
            << name(a) << " " << name(b);
      }
    }
  }
}

}  // namespace
}  // namespace reprise::conformance
