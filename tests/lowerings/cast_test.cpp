#include <cstring>

#include "harness.hpp"

namespace reprise::mlx_backend {
namespace {

Real least_of(DType d) {
  return with_type(d, [](auto tag) { return static_cast<Real>(std::numeric_limits<decltype(tag)>::min()); });
}
Real greatest_of(DType d) {
  return with_type(d, [](auto tag) { return static_cast<Real>(std::numeric_limits<decltype(tag)>::max()); });
}

Complex expected(DType from, DType to, Complex x) {
  if (to == DType::bool_) return x != Complex{} ? 1 : 0;
  if (is_complex(to)) return rounded(x, to);
  const Real v = x.real();
  if (!is_integer(to)) {
    // Half types are reached through float32.
    return rounded(is_floating(to) && size_of(to) == 2 ? rounded(v, DType::float32) : Complex(v), to);
  }
  if (is_floating(from) || is_complex(from)) {
    if (std::isnan(v)) return 0;
    return std::min(std::max(std::trunc(v), least_of(to)), greatest_of(to));
  }
  const Real modulus = std::ldexp(Real{1}, static_cast<int>(8 * size_of(to)));
  Real r = std::fmod(v, modulus);
  if (r < 0) r += modulus;
  if (r > greatest_of(to)) r -= modulus;
  return r;
}

std::vector<Complex> inputs_for(DType d) {
  std::vector<Complex> out = samples(d);
  if (is_floating(d) || is_complex(d)) {
    // On, next to and beyond the bounds of every integer dtype.
    for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
      const Real edge = std::ldexp(Real{1}, bits);
      if (d == DType::float16 && bits > 15) break;
      for (const Real v : {edge, edge - 1, edge + 1, edge - 0.5L, edge * (1 - format_of(d).epsilon),
                           edge * (1 + format_of(d).epsilon)}) {
        out.push_back(rounded(v, d));
        out.push_back(rounded(-v, d));
      }
    }
    for (const Real v : {0.99L, -0.99L, 300.0L, 70000.0L}) out.push_back(rounded(v, d));
  }
  if (is_complex(d)) {
    for (const Complex v :
         {Complex(0, kNan), Complex(kNan, 0), Complex(kInf, 1), Complex(-kInf, kNan), Complex(0, 0), Complex(0, 1)})
      out.push_back(v);
  }
  return out;
}

TEST(Astype, ConvertsEveryPairByTheRule) {
  for (const DType from : all_dtypes()) {
    const std::vector<Complex> inputs = inputs_for(from);
    for (const DType to : all_dtypes()) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      std::vector<Complex> want;
      for (const Complex& x : inputs) want.push_back(expected(from, to, x));
      expect_values(cast_to("astype", make(from, inputs), to), want);
    }
  }
}

TEST(Astype, TakesEverySizeAndLayout) {
  const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
  for (const DType from : all_dtypes()) {
    const std::vector<Complex> pool = inputs_for(from);
    for (const DType to : all_dtypes()) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      const auto check = [&](const array& x) {
        std::vector<Complex> want;
        for (const Complex& v : read(x)) want.push_back(expected(from, to, v));
        expect_values(cast_to("astype", x, to), want);
      };
      for (const int size : {0, 1, 7, 8, 15, 16, 17, 33}) {
        std::vector<Complex> inputs;
        for (int i = 0; i < size; ++i) inputs.push_back(pool[static_cast<std::size_t>(5 * i) % pool.size()]);
        check(make(from, inputs));
      }
      check(make(from, {pool.back()}, {}));
      std::vector<Complex> twelve;
      for (std::size_t i = 0; i < 12; ++i) twelve.push_back(pool[7 * i % pool.size()]);
      check(mx::transpose(make(from, twelve, {3, 4}), cpu));
      check(mx::broadcast_to(make(from, {pool[0], pool[1]}, {2, 1}), {2, 3}, cpu));
    }
  }
}

std::vector<std::uint8_t> bytes_of(const array& a) {
  array dense = mx::contiguous(a, false, mx::default_stream(mx::Device::cpu));
  dense.eval();
  const auto* first = dense.data<std::uint8_t>();
  return {first, first + dense.nbytes()};
}

TEST(Bitcast, KeepsTheBytes) {
  const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
  for (const DType from : all_dtypes()) {
    const std::vector<Complex> pool = samples(from);
    std::vector<Complex> values;
    for (std::size_t i = 0; i < 48; ++i) values.push_back(pool[i % pool.size()]);
    const array plain = make(from, values, {3, 16});
    const array turned = mx::transpose(make(from, values, {16, 3}), cpu);
    for (const DType to : all_dtypes()) {
      if (to == DType::bool_) continue;
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      for (const array& x : {plain, turned, make(from, {}, {2, 0})})
        EXPECT_EQ(bytes_of(cast_to("bitcast", x, to)), bytes_of(x));
      if (size_of(from) == size_of(to)) {
        const array scalar = make(from, {values[1]}, {});
        EXPECT_EQ(bytes_of(cast_to("bitcast", scalar, to)), bytes_of(scalar));
      } else {
        const ops::DTypeAttrs attrs{to};
        EXPECT_FALSE(infer_types("bitcast", {make(from, {values[1]}, {})}, &attrs).ok());
      }
    }
  }
}

TEST(Bitcast, ToBoolGivesValidBools) {
  EXPECT_EQ(bytes_of(cast_to("bitcast", make(DType::uint8, {0, 1, 2, 255}), DType::bool_)),
            (std::vector<std::uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(bytes_of(cast_to("bitcast", make(DType::uint16, {256}), DType::bool_)), (std::vector<std::uint8_t>{0, 1}));
}

TEST(Bitcast, Examples) {
  const array x = make(DType::float32, {1, -2});
  expect_values(cast_to("bitcast", x, DType::int32), {1065353216, -1073741824});
  expect_values(cast_to("bitcast", x, DType::uint8), {0, 0, 128, 63, 0, 0, 0, 192});
}

}  // namespace
}  // namespace reprise::mlx_backend
