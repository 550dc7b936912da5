// Rotary embedding against its definition in double precision.
#include "conformance/reference.hpp"

namespace reprise::conformance {
namespace {

struct Rotation {
  std::int64_t dims = 0;
  bool traditional = false;
  double base = 10000;
  double scale = 1;
  std::vector<double> freqs;  // instead of base
};

// Element `at` of x, whose position is `position`.
double rotated(const Tensor& x, const Rotation& r, const Shape& at, double position) {
  const std::int64_t f = at.back();
  if (f >= r.dims) return x(at);
  const std::int64_t half = r.dims / 2;
  const std::int64_t pair = r.traditional ? f / 2 : f % half;
  const bool second = r.traditional ? f % 2 == 1 : f >= half;
  const double theta = r.freqs.empty()
                           ? std::pow(r.base, -2.0 * static_cast<double>(pair) / static_cast<double>(r.dims))
                           : 1 / r.freqs[static_cast<std::size_t>(pair)];
  const double angle = r.scale * position * theta;
  Shape other = at;
  other.back() = r.traditional ? f + (second ? -1 : 1) : f + (second ? -half : half);
  return second ? x(other) * std::sin(angle) + x(at) * std::cos(angle)
                : x(at) * std::cos(angle) - x(other) * std::sin(angle);
}

Builder::Attrs attrs_of(const Rotation& r) {
  Builder::Attrs attrs{{"dims", r.dims}, {"traditional", r.traditional}};
  if (r.freqs.empty()) attrs.push_back({"base", r.base});
  attrs.push_back({"scale", r.scale});
  return attrs;
}

constexpr std::size_t kLayouts = 5;

template <typename F>
void check(std::string_view name, const std::vector<Tensor>& operands, const Rotation& r, Builder::Attrs attrs,
           const F& position, double extra = 0) {
  const Tensor& a = operands[0];
  for (std::size_t layout = 0; layout < kLayouts; ++layout) {
    EXPECT_TRUE(agrees(
        name, run_op(name, attrs, operands, layout)[0], a.dtype(), a.shape,
        [&](const Shape& at) { return rotated(a, r, at, position(at)); }, extra))
        << name << " " << to_string(type_of(a.data)) << " dims " << r.dims << " traditional " << r.traditional
        << " base " << r.base << " scale " << r.scale << " layout " << layout;
  }
}

class Rope : public OnDevice {};
REPRISE_ON_EACH_DEVICE(Rope);

TEST_P(Rope, ConsecutivePositions) {
  const Shape shapes[] = {{1, 1, 2}, {2, 1, 8}, {3, 5, 8}, {2, 3, 5, 8}, {2, 4, 1, 8}, {1, 2, 2, 3, 64}};
  for (const DType d : floats()) {
    for (const Shape& shape : shapes) {
      const Tensor a = random_tensor(shape, d, 1, -2, 2);
      for (const Rotation& r :
           {Rotation{shape.back()}, Rotation{shape.back(), true}, Rotation{2, false, 10000, 0.5}, Rotation{2, true},
            Rotation{shape.back() / 4 * 2, false, 500000.0}, Rotation{shape.back() / 4 * 2, true, 100.0, 2.0}}) {
        for (const std::int64_t offset : {0, 7, -3}) {
          auto attrs = attrs_of(r);
          attrs.push_back({"offset", offset});
          check("fast_rope", {a}, r, attrs,
                [&](const Shape& at) { return static_cast<double>(offset + at[at.size() - 2]); });
        }
      }
    }
  }
}

TEST_P(Rope, TokenPositions) {
  const Shape shapes[] = {{1, 1, 1, 2}, {2, 3, 1, 8}, {2, 3, 4, 8}, {1, 5, 3, 64}};
  for (const DType d : floats()) {
    for (const Shape& shape : shapes) {
      const Tensor a = random_tensor(shape, d, 1, -2, 2);
      const Tensor positions = random_tensor({shape[0], shape[1]}, DType::int32, 2, 0, 60);
      const auto position = [&](const Shape& at) { return positions({at[0], at[1]}); };
      for (const Rotation& r :
           {Rotation{shape.back()}, Rotation{2, false, 500000.0, 0.5}, Rotation{shape.back() / 4 * 2, false, 100.0}}) {
        check("fast_rope_positions", {a, positions}, r, attrs_of(r), position);
        check("fast_rope_ids", {a, positions}, r, attrs_of(r), position);  // Q10: with one head too
        const Tensor freqs = random_tensor({r.dims / 2}, DType::float32, 3, 1, 50);
        const Rotation by_freqs{r.dims, false, 0, r.scale, freqs.values};
        if (r.dims == 0) continue;  // no frequency to give
        check("fast_rope_with_freqs", {a, positions, freqs}, by_freqs, attrs_of(by_freqs), position);
        check("fast_rope_with_freqs_positions", {a, positions, freqs}, by_freqs, attrs_of(by_freqs), position);
      }
    }
  }
}

TEST_P(Rope, PositionsOfAnyRealDType) {
  const Tensor a = random_tensor({2, 3, 2, 8}, DType::float32, 1);
  const Rotation r{8};
  for (const DType d : {DType::bool_, DType::uint8, DType::int64, DType::uint64, DType::float16, DType::float64}) {
    if (d == DType::float64 && target().device != Device::cpu()) continue;
    const Tensor positions = random_tensor({2, 3}, d, 2, 0, 2);
    check("fast_rope_positions", {a, positions}, r, attrs_of(r), [&](const Shape& at) {
      return positions({at[0], at[1]});
    });
  }
}

TEST_P(Rope, OneHeadMayBeTraditional) {
  for (const DType d : floats()) {
    const Tensor a = random_tensor({2, 3, 1, 8}, d, 1);
    const Tensor positions = random_tensor({2, 3}, DType::uint32, 2, 0, 60);
    const Rotation r{6, true};
    check("fast_rope_ids", {a, positions}, r, attrs_of(r), [&](const Shape& at) { return positions({at[0], at[1]}); });
  }
}

// Not rank 4: time is the second-to-last axis, and positions run on from each batch row's first.
TEST_P(Rope, BatchedOffsets) {
  for (const DType d : floats()) {
    for (const Shape& shape : {Shape{2, 4, 8}, Shape{3, 1, 8}, Shape{2, 2, 3, 4, 8}}) {
      const Tensor a = random_tensor(shape, d, 1);
      const Tensor positions = random_tensor({shape[0], 2}, DType::int16, 2, 0, 60);
      const auto position = [&](const Shape& at) {
        return positions({at[0], 0}) + static_cast<double>(at[at.size() - 2]);
      };
      for (const bool traditional : {false, true}) {
        const Rotation r{6, traditional, 1000.0, 0.5};
        check("fast_rope_ids", {a, positions}, r, attrs_of(r), position);
        const Tensor freqs = random_tensor({3}, DType::float32, 3, 1, 50);
        const Rotation by_freqs{6, traditional, 0, 1, freqs.values};
        check("fast_rope_with_freqs", {a, positions, freqs}, by_freqs, attrs_of(by_freqs), position);
      }
    }
  }
}

// Angles of thousands of radians are off by their float32 rounding, no more.
TEST_P(Rope, FarPositions) {
  const Tensor a = random_tensor({1, 2, 2, 64}, DType::float32, 1);
  const Tensor positions = tensor({1, 2}, {8191, 131071}, DType::int32);
  const Rotation r{64, false, 100000.0};
  check(
      "fast_rope_positions", {a, positions}, r, attrs_of(r),
      [&](const Shape& at) {
        return positions({at[0], at[1]});
      },
      0.02);
  auto attrs = attrs_of(r);
  attrs.push_back({"offset", 131071});
  check(
      "fast_rope", {a}, r, attrs, [](const Shape& at) { return static_cast<double>(131071 + at[2]); }, 0.02);
}

}  // namespace
}  // namespace reprise::conformance
