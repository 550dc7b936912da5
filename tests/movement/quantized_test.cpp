#include "movement/movement.hpp"
#include "ops/dot/dot.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::QuantizedMatmulAttrs;
using ops::QuantMode;

constexpr double kFp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

double fp8(unsigned code) {
  if ((code & 127) == 127) return kNaN;
  const int exponent = static_cast<int>((code >> 3) & 15);
  const double mantissa = (code & 7) / 8.0;
  const double v = exponent == 0 ? mantissa * std::exp2(-6) : (1 + mantissa) * std::exp2(exponent - 7);
  return (code & 128) != 0 ? -v : v;
}

// Packs bit by bit: code k occupies the bits from k * bits on, lowest first.
std::vector<std::uint64_t> pack(const std::vector<unsigned>& codes, int bits, std::int64_t row) {
  std::vector<std::uint64_t> words;
  for (std::size_t start = 0; start < codes.size(); start += static_cast<std::size_t>(row)) {
    std::vector<std::uint64_t> line(static_cast<std::size_t>(row * bits / 32), 0);
    for (std::size_t k = 0; k < static_cast<std::size_t>(row); ++k) {
      for (int b = 0; b < bits; ++b) {
        const auto at = k * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
        line[at / 32] |= static_cast<std::uint64_t>((codes[start + k] >> b) & 1) << (at % 32);
      }
    }
    words.insert(words.end(), line.begin(), line.end());
  }
  return words;
}

// A packed matrix of shape (batch..., rows, columns) and the weights that it stands for.
struct Packed {
  QuantizedMatmulAttrs attrs;
  Shape shape;
  std::vector<array> operands;  // w, scales, biases
  std::vector<double> weights;
};

Packed packed(QuantMode mode, std::int64_t bits, std::int64_t group, bool transpose, const Shape& shape, DType d) {
  Packed out{{group, bits, transpose, mode, mode == QuantMode::affine}, shape, {}, {}};
  const auto n = static_cast<std::size_t>(count(shape));
  const auto groups = n / static_cast<std::size_t>(group);
  std::uint32_t state = 7;
  const auto random = [&](std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 12) % below;
  };
  std::vector<unsigned> codes;
  for (std::size_t k = 0; k < n; ++k) {
    codes.push_back(random(1u << bits));
    // NaN would hide everything else.
    if (mode == QuantMode::mxfp8 && std::isnan(fp8(codes[k]))) codes[k] = 1;
  }
  std::vector<double> scales, biases;
  for (std::size_t g = 0; g < groups; ++g) {
    switch (mode) {
      case QuantMode::affine:
        scales.push_back((static_cast<int>(random(7)) - 3) / 4.0);
        biases.push_back(static_cast<int>(random(9)) - 4);
        break;
      case QuantMode::nvfp4: scales.push_back(0x28 + random(0x20)); break;
      default: scales.push_back(124 + random(5));
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t g = k / static_cast<std::size_t>(group);
    const auto code = static_cast<unsigned>(scales[g]);
    switch (mode) {
      case QuantMode::affine: out.weights.push_back(scales[g] * codes[k] + biases[g]); break;
      case QuantMode::mxfp4: out.weights.push_back(kFp4[codes[k]] * std::exp2(static_cast<int>(code) - 127)); break;
      case QuantMode::mxfp8: out.weights.push_back(fp8(codes[k]) * std::exp2(static_cast<int>(code) - 127)); break;
      case QuantMode::nvfp4: out.weights.push_back(kFp4[codes[k]] * fp8(code)); break;
    }
  }
  Shape w = shape;
  w.back() = shape.back() * bits / 32;
  Shape s = shape;
  s.back() = shape.back() / group;
  out.operands.push_back(make_unsigned(w, pack(codes, static_cast<int>(bits), shape.back()), uint32));
  out.operands.push_back(make(s, scales, mode == QuantMode::affine ? d : uint8));
  if (mode == QuantMode::affine) out.operands.push_back(make(s, biases, d));
  return out;
}

// The dense product in double. Batch axes of x and w are those of the result, by modulo where one has size 1.
std::vector<Num> dense(const array& x, const Packed& p, const Shape& result) {
  const Shape sx = type_of(x).shape;
  const auto vx = elements(x);
  const std::int64_t k = sx.back();
  std::vector<Num> out;
  each(result, [&](const Shape& i, std::size_t) {
    double total = 0;
    for (std::int64_t c = 0; c < k; ++c) {
      Shape ix(sx.size()), iw(p.shape.size());
      for (std::size_t a = 0; a + 1 < sx.size(); ++a) {
        const std::int64_t at = i[i.size() - sx.size() + a];
        ix[a] = sx[a] == 1 ? 0 : at;
      }
      ix.back() = c;
      for (std::size_t a = 0; a + 2 < iw.size(); ++a) {
        const std::int64_t at = i[i.size() - iw.size() + a];
        iw[a] = p.shape[a] == 1 ? 0 : at;
      }
      iw[iw.size() - 2] = p.attrs.transpose ? i.back() : c;
      iw[iw.size() - 1] = p.attrs.transpose ? c : i.back();
      total += vx[position(ix, sx)].re * p.weights[position(iw, p.shape)];
    }
    out.push_back({.re = total});
  });
  return out;
}

std::vector<array> with_x(const array& x, const Packed& p) {
  std::vector<array> out{x};
  out.insert(out.end(), p.operands.begin(), p.operands.end());
  return out;
}

struct Mode {
  QuantMode mode;
  std::int64_t bits;
  std::int64_t group;
};

std::vector<Mode> every_mode() {
  std::vector<Mode> out{{QuantMode::mxfp4, 4, 32}, {QuantMode::mxfp8, 8, 32}, {QuantMode::nvfp4, 4, 16}};
  for (const std::int64_t bits : {1, 2, 3, 4, 5, 6, 8}) {
    for (const std::int64_t group : {32, 64, 128}) out.push_back({QuantMode::affine, bits, group});
  }
  return out;
}

double tolerance_of(DType d) { return d == bfloat16 ? 0.005 : d == float16 ? 0.001 : d == float32 ? 2e-6 : 1e-14; }

array random_x(const Shape& shape, DType d) { return sample(shape, d, 5); }

TEST(QuantizedMatmul, SpecExamples) {
  std::vector<std::uint64_t> codes;
  for (unsigned k = 0; k < 64; ++k) codes.push_back(k);
  const array x = make({1, 32}, std::vector<double>(32, 1));
  // The manual's numbers are of a matrix quantised by MLX: rows 0..31 and 32..63.
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  const auto q = [&](int group, int bits, const char* mode) {
    auto parts = mx::quantize(iota({2, 32}), group, bits, mode, std::nullopt, s);
    for (array& part : parts) part.eval();
    return parts;
  };
  const auto affine = q(32, 4, "affine");
  EXPECT_TRUE(equals(apply("quantized_matmul", QuantizedMatmulAttrs{32, 4, true, QuantMode::affine, true},
                           {x, affine[0], affine[1], affine[2]}),
                     {1, 2}, {496, 1522.5}, 1e-5));
  const auto mxfp4 = q(32, 4, "mxfp4");
  EXPECT_TRUE(equals(
      apply("quantized_matmul", QuantizedMatmulAttrs{32, 4, true, QuantMode::mxfp4, false}, {x, mxfp4[0], mxfp4[1]}),
      {1, 2}, {480, 1504}));
  const auto mxfp8 = q(32, 8, "mxfp8");
  EXPECT_TRUE(equals(
      apply("quantized_matmul", QuantizedMatmulAttrs{32, 8, true, QuantMode::mxfp8, false}, {x, mxfp8[0], mxfp8[1]}),
      {1, 2}, {496, 1520}));
  const auto nvfp4 = q(16, 4, "nvfp4");
  EXPECT_TRUE(equals(
      apply("quantized_matmul", QuantizedMatmulAttrs{16, 4, true, QuantMode::nvfp4, false}, {x, nvfp4[0], nvfp4[1]}),
      {1, 2}, {490, 1524}));
}

TEST(QuantizedMatmul, EveryModeDTypeAndForm) {
  for (const Mode& m : every_mode()) {
    for (const bool transpose : {true, false}) {
      const Shape shape = transpose ? Shape{5, 256} : Shape{40, 128};
      const std::int64_t k = transpose ? 256 : 40;
      const std::int64_t n = transpose ? 5 : 128;
      for (const DType d : kEveryFloat) {
        const Packed p = packed(m.mode, m.bits, m.group, transpose, shape, d);
        for (const Shape& x_shape : {Shape{k}, Shape{3, k}, Shape{2, 1, 2, k}}) {
          const array x = random_x(x_shape, d);
          Shape result = x_shape;
          result.back() = n;
          // Terms of both signs cancel: what counts is the size of the terms.
          const double tolerance = tolerance_of(d) * 40;
          EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), result, dense(x, p, result), tolerance))
              << ops::name(m.mode) << m.bits << " group " << m.group << (transpose ? " transposed " : " ") << name(d);
        }
      }
    }
  }
}

TEST(QuantizedMatmul, UnpackedWeightsAreExact) {
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  for (const Mode& m : every_mode()) {
    const Packed p = packed(m.mode, m.bits, m.group, true, {3, 128}, float64);
    for (const mx::Dtype d : {mx::float64, mx::float32}) {
      EXPECT_TRUE(equals(mlx_backend::unpack_weights(p.operands, p.attrs, d, s), {3, 128}, p.weights, 1e-7));
    }
  }
}

// The codes at the ends of the 8-bit formats, on MLX's path and on ours.
TEST(QuantizedMatmul, SpecialCodes) {
  for (const DType d : kEveryFloat) {
    const array x = make({1, 32}, std::vector<double>(32, 1), d);
    for (const unsigned code : {0x00u, 0x01u, 0x07u, 0x08u, 0x7eu, 0x7fu, 0x80u, 0x81u, 0xfeu, 0xffu}) {
      const array w = make_unsigned({1, 8}, {code, 0, 0, 0, 0, 0, 0, 0}, uint32);
      const QuantizedMatmulAttrs mxfp8{32, 8, true, QuantMode::mxfp8, false};
      EXPECT_TRUE(equals(apply("quantized_matmul", mxfp8, {x, w, make({1, 1}, {127}, uint8)}), {1, 1}, {fp8(code)}))
          << code << name(d);
      const array one = make_unsigned({1, 4}, {2, 0, 0, 0}, uint32);
      const QuantizedMatmulAttrs nvfp4{16, 4, true, QuantMode::nvfp4, false};
      const array scales = make({1, 2}, {static_cast<double>(code), 0}, uint8);
      EXPECT_TRUE(equals(apply("quantized_matmul", nvfp4, {x, one, scales}), {1, 1}, {fp8(code)})) << code << name(d);
    }
    const array one = make_unsigned({1, 4}, {2, 0, 0, 0}, uint32);
    const QuantizedMatmulAttrs mxfp4{32, 4, true, QuantMode::mxfp4, false};
    for (const int code : {112, 126, 127, 128, 142}) {
      EXPECT_TRUE(equals(apply("quantized_matmul", mxfp4, {x, one, make({1, 1}, {static_cast<double>(code)}, uint8)}),
                         {1, 1}, {std::exp2(code - 127)}));
    }
  }
}

TEST(QuantizedMatmul, LayoutsOfOperands) {
  for (const Mode& m :
       {Mode{QuantMode::affine, 4, 32}, Mode{QuantMode::affine, 3, 64}, Mode{QuantMode::nvfp4, 4, 16}}) {
    for (const bool transpose : {true, false}) {
      const Packed p = packed(m.mode, m.bits, m.group, transpose, {64, 64}, float32);
      const auto xs = layouts(random_x({2, 64}, float32));
      const auto wanted = dense(xs[0], p, {2, 64});
      std::vector<std::vector<array>> parts;
      for (const array& operand : p.operands) parts.push_back(layouts(operand));
      for (std::size_t k = 0; k < xs.size(); ++k) {
        std::vector<array> operands{xs[k]};
        for (const auto& part : parts) operands.push_back(part[k]);
        EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, operands), {2, 64}, wanted, 1e-4)) << k;
      }
    }
  }
}

TEST(QuantizedMatmul, BatchedWeightsBroadcast) {
  struct Case {
    Shape x, w, result;
  };
  for (const bool transpose : {true, false}) {
    for (const DType d : {float32, bfloat16, float64}) {
      for (const Case& c :
           {Case{{2, 3, 64}, {2, 64, 64}, {2, 3, 64}}, Case{{3, 64}, {2, 64, 64}, {2, 3, 64}},
            Case{{2, 1, 3, 64}, {4, 64, 64}, {2, 4, 3, 64}}, Case{{1, 3, 64}, {2, 2, 64, 64}, {2, 2, 3, 64}},
            Case{{2, 2, 1, 64}, {1, 64, 64}, {2, 2, 1, 64}}}) {
        const Packed p = packed(QuantMode::affine, 4, 32, transpose, c.w, d);
        const array x = random_x(c.x, d);
        EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), c.result, dense(x, p, c.result),
                           tolerance_of(d) * 40))
            << to_string(c.x) << to_string(c.w) << name(d);
      }
    }
  }
}

TEST(QuantizedMatmul, DTypeRules) {
  const auto result = [](DType x, DType scales, DType biases) {
    return types_of("quantized_matmul", QuantizedMatmulAttrs{32, 4, true, QuantMode::affine, true},
                    {{x, {1, 32}}, {uint32, {2, 4}}, {scales, {2, 1}}, {biases, {2, 1}}});
  };
  for (const DType x : kEveryDType) {
    for (const DType scales : kEveryFloat) {
      const auto types = result(x, scales, float32);
      ASSERT_EQ(types.ok(), x != complex64) << name(x);
      if (!types) continue;
      const DType wanted = promote(x, scales);
      EXPECT_EQ((*types)[0], (TensorType{wanted, {1, 2}}));
      const array y = apply("quantized_matmul", QuantizedMatmulAttrs{32, 4, true, QuantMode::affine, true},
                            {make({1, 32}, std::vector<double>(32, 1), x),
                             make_unsigned({2, 4}, std::vector<std::uint64_t>(8, 0x11111111), uint32),
                             make({2, 1}, {1, 2}, scales), make({2, 1}, {0, 1})});
      EXPECT_TRUE(equals(y, {1, 2}, {32, 96})) << name(x) << name(scales);
    }
  }
  EXPECT_FALSE(result(float32, int32, float32).ok());
  const QuantizedMatmulAttrs mxfp4{32, 4, true, QuantMode::mxfp4, false};
  EXPECT_TRUE(types_of("quantized_matmul", mxfp4, {{bfloat16, {1, 32}}, {uint32, {2, 4}}, {uint8, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("quantized_matmul", mxfp4, {{int32, {1, 32}}, {uint32, {2, 4}}, {uint8, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("quantized_matmul", mxfp4, {{float32, {1, 32}}, {uint32, {2, 4}}, {float32, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("quantized_matmul", mxfp4, {{float32, {1, 32}}, {int32, {2, 4}}, {uint8, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("quantized_matmul", mxfp4, {{float32, {1, 64}}, {uint32, {2, 4}}, {uint8, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("quantized_matmul", mxfp4, {{float32, {1, 32}}, {uint32, {2, 4}}, {uint8, {2, 2}}}).ok());
}

// Codes of ones, scale 1 and bias 0, so that each result counts its terms.
Packed ones(std::int64_t group, std::int64_t bits, bool transpose, const Shape& shape, DType d) {
  Packed p = packed(QuantMode::affine, bits, group, transpose, shape, d);
  const std::vector<unsigned> codes(static_cast<std::size_t>(count(shape)), 1);
  const Shape w = type_of(p.operands[0]).shape;
  const Shape s = type_of(p.operands[1]).shape;
  p.operands[0] = make_unsigned(w, pack(codes, static_cast<int>(bits), shape.back()), uint32);
  p.operands[1] = make(s, std::vector<double>(static_cast<std::size_t>(count(s)), 1), d);
  p.operands[2] = make(s, std::vector<double>(static_cast<std::size_t>(count(s)), 0), d);
  return p;
}

TEST(QuantizedMatmul, B86_UntransposedNarrow) {
  for (const std::int64_t n : {32, 96}) {
    for (const std::int64_t bits : {1, 2, 3, 4, 5, 6, 8}) {
      for (const DType d : kEveryFloat) {
        const Packed p = ones(32, bits, false, {1024, n}, d);
        const array x = make({1, 1024}, std::vector<double>(1024, 1), d);
        EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), {1, n},
                           std::vector<double>(static_cast<std::size_t>(n), 1024)))
            << n << " columns, " << bits << " bits, " << name(d);
      }
    }
  }
}

TEST(QuantizedMatmul, B87_WeightBroadcastOverRepeats) {
  for (const DType d : kEveryFloat) {
    Packed p = ones(32, 4, true, {1, 2, 1, 4, 32}, d);
    std::vector<unsigned> codes(256, 1);
    std::fill(codes.begin() + 128, codes.end(), 2u);
    p.operands[0] = make_unsigned({1, 2, 1, 4, 4}, pack(codes, 4, 32), uint32);
    std::vector<double> wanted(24, 32);
    std::fill(wanted.begin() + 12, wanted.end(), 64.0);
    const array x = make({1, 2, 3, 1, 32}, std::vector<double>(192, 1), d);
    EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), {1, 2, 3, 1, 4}, wanted)) << name(d);
    // The same with the repetition made by a broadcast view before.
    std::vector<array> operands{x};
    for (const array& part : p.operands) {
      mx::Shape shape = part.shape();
      shape[2] = 3;
      operands.push_back(mx::broadcast_to(part, shape, mx::default_stream(mx::Device::cpu)));
    }
    EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, operands), {1, 2, 3, 1, 4}, wanted)) << name(d);
  }
}

TEST(QuantizedMatmul, B90_LengthNotAMultipleOf64) {
  for (const Mode& m : {Mode{QuantMode::mxfp4, 4, 32}, Mode{QuantMode::mxfp8, 8, 32}, Mode{QuantMode::nvfp4, 4, 16}}) {
    for (const DType d : kEveryFloat) {
      const Packed p = packed(m.mode, m.bits, m.group, false, {544, 512}, d);
      const array x = make({1, 544}, std::vector<double>(544, 1), d);
      EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), {1, 512}, dense(x, p, {1, 512}), 0.01));
    }
  }
}

TEST(QuantizedMatmul, B91_LengthNotAMultipleOf32) {
  for (const DType d : kEveryFloat) {
    Packed p = packed(QuantMode::nvfp4, 4, 16, true, {3, 48}, d);
    p.operands[0] = make_unsigned({3, 6}, std::vector<std::uint64_t>(18, 0x22222222), uint32);
    p.operands[1] = make({3, 3}, std::vector<double>(9, 0x38), uint8);
    const array x = make({2, 48}, std::vector<double>(96, 1), d);
    EXPECT_TRUE(equals(apply("quantized_matmul", p.attrs, with_x(x, p)), {2, 3}, std::vector<double>(6, 48)))
        << name(d);
  }
}

TEST(QuantizedMatmul, Nothing) {
  for (const DType d : kEveryFloat) {
    const Packed p = packed(QuantMode::affine, 4, 32, true, {3, 32}, d);
    EXPECT_TRUE(
        equals(apply("quantized_matmul", p.attrs, with_x(make({0, 32}, {}, d), p)), {0, 3}, std::vector<double>{}));
    // No weights in a row of the sum.
    const Packed none = packed(QuantMode::affine, 4, 32, false, {0, 64}, d);
    EXPECT_TRUE(equals(apply("quantized_matmul", none.attrs, with_x(make({2, 0}, {}, d), none)), {2, 64},
                       std::vector<double>(128, 0)));
    const Packed no_rows = packed(QuantMode::affine, 4, 32, true, {0, 32}, d);
    EXPECT_TRUE(equals(apply("quantized_matmul", no_rows.attrs, with_x(sample({2, 32}, d), no_rows)), {2, 0},
                       std::vector<double>{}));
  }
}

}  // namespace
}  // namespace reprise::movement
