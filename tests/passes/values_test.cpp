// Programs before and after the passes on values that show a difference: NaN, infinities, both zeros, the least
// numbers, the ends of the integers. The judge is the program as it was written, on the mlx backend.
#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/format.hpp"
#include "passes/passes.hpp"
#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/executable.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string bytes_of(const mx::array& x) {
  mx::array dense = mx::contiguous(x);
  dense.eval();
  return {dense.data<char>(), dense.nbytes()};
}

Program parsed(const std::string& text) { return parse_program("reprise 1\n" + text).value(); }

std::vector<TensorType> types_of(const std::vector<mx::array>& inputs) {
  std::vector<TensorType> out;
  for (const mx::array& x : inputs) out.push_back(type_of(x));
  return out;
}

struct Shortened {
  Program program;
  bool changed = false;
};

Shortened optimised(const Program& program, const std::vector<mx::array>& inputs) {
  auto verified = std::make_shared<const VerifiedProgram>(verify(program).value());
  auto typed = std::make_shared<const TypedProgram>(infer(verified, types_of(inputs)).value());
  const auto made = pass::optimise(typed, {}).value();
  return {made.program->program(), made.program != typed};
}

std::vector<mx::array> run(const Program& program, const std::vector<mx::array>& inputs,
                           Backend backend = Backend::mlx) {
  return compile(program, {.backend = backend}).value().run(inputs).value();
}

mx::array specials(mx::Dtype dtype) {
  const float tiny = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  const std::vector<float> values = {0.0f,       -0.0f, 1,    -1,    1.5f, -2.5f, kInfinity,
                                     -kInfinity, NAN,   tiny, -tiny, most, -most};
  mx::array x(values.begin(), {static_cast<int>(values.size())});
  x = mx::astype(x, dtype);
  x.eval();
  return x;
}

template <typename T>
mx::array ends() {
  const std::vector<T> values = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 0, 1, T(-1), 2, T(-7)};
  return mx::array(values.begin(), {static_cast<int>(values.size())});
}

// --- Simplification changes no bit

struct Exact {
  const char* dtype;
  const char* body;  ///< of in0, in the dtype
};

class Simplified : public testing::TestWithParam<Exact> {};

TEST_P(Simplified, KeepsEachBit) {
  const Exact& one = GetParam();
  const DType dtype = *dtype_from_short_name(one.dtype);
  const mx::array x = dtype == DType::int32   ? ends<std::int32_t>()
                      : dtype == DType::int8  ? ends<std::int8_t>()
                      : dtype == DType::uint8 ? ends<std::uint8_t>()
                                              : specials(to_mlx(dtype));
  std::string body = one.body;
  for (auto at = body.find("DT"); at != std::string::npos; at = body.find("DT")) body.replace(at, 2, one.dtype);
  const Program before = parsed("inputs 1\n" + body);
  const Shortened after = optimised(before, {x});
  EXPECT_TRUE(after.changed);
  EXPECT_LT(after.program->instructions.size(), before->instructions.size());
  const auto expected = run(before, {x}), seen = run(after.program, {x});
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t k = 0; k < seen.size(); ++k) {
    EXPECT_EQ(type_of(seen[k]), type_of(expected[k]));
    EXPECT_TRUE(bytes_of(seen[k]) == bytes_of(expected[k])) << "output " << k << ": " << seen[k] << expected[k];
  }
}

constexpr const char* kArithmetic =
    "const0 = 1 : DT\nconst1 = 0 : DT\n%0 = multiply in0, const0\n%1 = subtract %0, const1\n%2 = multiply const0, %1\n"
    "return %2\n";
constexpr const char* kZeros =
    "const0 = -0.0 : DT\nconst1 = 1.0 : DT\n%0 = add const0, in0\n%1 = divide %0, const1\n"
    "return %1, %0\n";
constexpr const char* kIntegers =
    "const0 = 1 : DT\nconst1 = 0 : DT\nconst2 = 2 : DT\n%0 = add in0, const1\n%1 = pow %0, const0\n"
    "%2 = quotient %1, const0\n%3 = left_shift %2, const1\n%4 = bitwise_xor %3, const1\n%5 = pow %4, const2\n"
    "return %4, %5\n";
constexpr const char* kTwice =
    "%0 = negate in0\n%1 = negate %0\n%2 = abs in0\n%3 = abs %2\n%4 = round in0\n%5 = round %4\n%6 = sign in0\n"
    "%7 = sign %6\n%8 = max in0, in0\n%9 = conjugate in0\nreturn %1, %3, %5, %7, %8, %9\n";
constexpr const char* kCasts =
    "%0 = astype in0 {dtype = f32}\n%1 = astype %0 {dtype = s32}\n%2 = astype %0 {dtype = u8}\n"
    "%3 = astype %0 {dtype = DT}\n%4 = astype %0 {dtype = bool}\nreturn %1, %2, %3, %4\n";
constexpr const char* kShapes =
    "%0 = reverse in0 {axes = [0]}\n%1 = reverse %0 {axes = [0]}\n%2 = reshape %1 {shape = [1, -1]}\n"
    "%3 = transpose %2 {axes = [1, 0]}\n%4 = transpose %3 {axes = [1, 0]}\n%5 = squeeze %4 {axes = [0]}\n"
    "%6 = concatenate %5 {axis = 0}\nreturn %6\n";

INSTANTIATE_TEST_SUITE_P(Passes, Simplified,
                         testing::Values(Exact{"f32", kArithmetic}, Exact{"f16", kArithmetic},
                                         Exact{"bf16", kArithmetic}, Exact{"f64", kArithmetic},
                                         Exact{"s32", kArithmetic}, Exact{"s8", kArithmetic}, Exact{"u8", kArithmetic},
                                         Exact{"f32", kZeros}, Exact{"f16", kZeros}, Exact{"bf16", kZeros},
                                         Exact{"f64", kZeros}, Exact{"s32", kIntegers}, Exact{"s8", kIntegers},
                                         Exact{"u8", kIntegers}, Exact{"f32", kTwice}, Exact{"f16", kTwice},
                                         Exact{"s32", kTwice}, Exact{"s8", kTwice}, Exact{"u8", kTwice},
                                         Exact{"f16", kCasts}, Exact{"bf16", kCasts}, Exact{"s8", kCasts},
                                         Exact{"u8", kCasts}, Exact{"f32", kShapes}, Exact{"s8", kShapes}),
                         [](const auto& tested) { return fmt::format("{}_{}", tested.param.dtype, tested.index); });

// --- Fusions

// Random rows, some with a value that spreads.
mx::array rows(const std::vector<int>& shape, unsigned seed, bool special) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::size_t count = 1;
  for (const int n : shape) count *= static_cast<std::size_t>(n);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  if (special) {
    const auto width = static_cast<std::size_t>(shape.back());
    const float odd[] = {NAN, kInfinity, -kInfinity, 1e25f, 0, -0.0f, 1e-40f};
    // Row r holds odd[r] once, and nothing else where it is no number to reckon with.
    for (std::size_t r = 0; r < std::min(count / width, std::size(odd)); ++r) {
      if (odd[r] == 0 || std::abs(odd[r]) == kInfinity) {
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(r * width), width, odd[r]);
      }
      values[r * width] = odd[r];
    }
  }
  return mx::array(values.begin(), mx::Shape(shape.begin(), shape.end()));
}

void expect_near(const mx::array& seen, const mx::array& expected, double epsilons, const std::string& what) {
  ASSERT_EQ(type_of(seen), type_of(expected)) << what;
  const std::string a = bytes_of(seen), b = bytes_of(expected);
  for (std::size_t i = 0; i * sizeof(float) < a.size(); ++i) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + i * sizeof x, sizeof x);
    std::memcpy(&y, b.data() + i * sizeof y, sizeof y);
    if (std::isnan(y) || std::isinf(y)) {
      EXPECT_TRUE(std::isnan(y) ? std::isnan(x) : x == y) << what << " element " << i << ": " << x << ", wanted " << y;
    } else {
      EXPECT_LE(std::abs(x - y), epsilons * 0x1p-23 * std::max(1.0f, std::abs(y)))
          << what << " element " << i << ": " << x << ", wanted " << y;
    }
  }
}

void expect_fused(const std::string& text, const std::vector<mx::array>& inputs, const std::string& op) {
  const Program before = parsed(text);
  const Shortened after = optimised(before, inputs);
  bool found = false;
  for (const Instruction& i : after.program->instructions) found |= i.op == op;
  ASSERT_TRUE(found) << print_program(after.program);
  const auto expected = run(before, inputs);
  // Both forms have the tolerance of the fused op's row.
  const double epsilons = 2 * (op.starts_with("fast_sdpa") ? 336 : op == "fast_swiglu" ? 16 : 168);
  expect_near(run(after.program, inputs)[0], expected[0], epsilons, op + " on mlx");
  expect_near(run(before, inputs, Backend::native)[0], expected[0], epsilons, op + " on native");
}

constexpr const char* kRms =
    "inputs 2\nconst0 = 37.0 : f32\nconst1 = 0.00001 : f32\n%0 = multiply in0, in0\n"
    "%1 = sum %0 {keep_axes = true, axes = [-1]}\n%2 = divide %1, const0\n%3 = add %2, const1\n%4 = rsqrt %3\n"
    "%5 = multiply in0, %4\n%6 = multiply %5, in1\nreturn %6\n";
constexpr const char* kLayer =
    "inputs 3\nconst0 = 37.0 : f32\nconst1 = 0.00001 : f32\n%0 = sum in0 {keep_axes = true, axes = [-1]}\n"
    "%1 = divide %0, const0\n%2 = subtract in0, %1\n%3 = multiply %2, %2\n"
    "%4 = sum %3 {keep_axes = true, axes = [-1]}\n%5 = divide %4, const0\n%6 = add %5, const1\n%7 = rsqrt %6\n"
    "%8 = multiply %2, %7\n%9 = multiply %8, in1\n%10 = add %9, in2\nreturn %10\n";

TEST(FusedNorm, RmsNormOfSpecialValues) {
  for (const bool special : {false, true}) {
    expect_fused(kRms, {rows({8, 37}, 1, special), rows({37}, 2, false)}, "fast_rms_norm");
  }
}

TEST(FusedNorm, RmsNormOfZerosWithoutEps) {
  std::string text = kRms;
  text.replace(text.find("0.00001"), 7, "0.0");
  expect_fused(text, {rows({8, 37}, 1, true), rows({37}, 2, false)}, "fast_rms_norm");
}

TEST(FusedNorm, LayerNormOfSpecialValues) {
  for (const bool special : {false, true}) {
    expect_fused(kLayer, {rows({8, 37}, 3, special), rows({37}, 4, false), rows({37}, 5, false)}, "fast_layer_norm");
  }
}

TEST(FusedSwiglu, SpecialValues) {
  const char* text = "inputs 2\n%0 = sigmoid in0\n%1 = multiply in0, %0\n%2 = multiply %1, in1\nreturn %2\n";
  const mx::array odd = specials(mx::float32);
  const int n = static_cast<int>(odd.size());
  // Each special value as a gate of each.
  const mx::array gate = mx::contiguous(mx::broadcast_to(mx::reshape(odd, {n, 1}), {n, n}));
  const mx::array up = mx::contiguous(mx::broadcast_to(odd, {n, n}));
  expect_fused(text, {gate, up}, "fast_swiglu");
  expect_fused(text, {rows({8, 37}, 6, false), rows({8, 37}, 7, false)}, "fast_swiglu");
}

std::string attention(bool masked) {
  return std::string(masked ? "inputs 4\n" : "inputs 3\n") +
         "const0 = 0.25 : f32\nconst1 = 0.0 : f32\nconst2 = -3.4028235e38 : f32\n"
         "%0 = dot in0, in1 {contract_a = [3], contract_b = [3], batch_a = [0, 1], batch_b = [0, 1]}\n"
         "%1 = multiply %0, const0\n" +
         // Without a mask the sum is one that goes away.
         (masked ? "%2 = select in3, const1, const2\n%3 = add %1, %2\n" : "%2 = negate %1\n%3 = negate %2\n") +
         "%4 = reduce_max %3 {keep_axes = true, axes = [3]}\n%5 = subtract %3, %4\n%6 = exp %5\n"
         "%7 = sum %6 {keep_axes = true, axes = [-1]}\n%8 = divide %6, %7\n"
         "%9 = dot %8, in2 {contract_a = [3], contract_b = [2], batch_a = [0, 1], batch_b = [0, 1]}\nreturn %9\n";
}

TEST(FusedAttention, Unmasked) {
  for (const int queries : {1, 5, 40}) {
    expect_fused(attention(false),
                 {rows({2, 3, queries, 16}, 8, false), rows({2, 3, 70, 16}, 9, false), rows({2, 3, 70, 16}, 10, false)},
                 "fast_sdpa");
  }
}

TEST(FusedAttention, QueriesWithoutAnyScoreAndNan) {
  for (const int queries : {7, 40}) {
    // All keys positive: an infinite query has scores of one infinity.
    const mx::array keys = mx::add(mx::abs(rows({1, 1, 9, 16}, 11, false)), mx::array(0.5f));
    expect_fused(attention(false), {rows({1, 1, queries, 16}, 12, true), keys, rows({1, 1, 9, 16}, 13, false)},
                 "fast_sdpa");
  }
}

TEST(FusedAttention, MaskThatHidesAllKeysOfSomeQueries) {
  for (const int queries : {5, 40}) {
    std::vector<std::uint8_t> visible(static_cast<std::size_t>(queries) * 9);
    for (std::size_t i = 0; i < visible.size(); ++i) visible[i] = i / 9 == 2 ? 0 : i % 3 != 0;
    mx::array mask = mx::astype(mx::array(visible.begin(), {queries, 9}), mx::bool_);
    mask.eval();
    expect_fused(
        attention(true),
        {rows({1, 2, queries, 16}, 14, false), rows({1, 2, 9, 16}, 15, false), rows({1, 2, 9, 16}, 16, false), mask},
        "fast_sdpa_masked");
  }
}

// --- The whole

TEST(Passes, UnknownNamesAreErrors) {
  const Program program = parsed("inputs 1\nreturn in0\n");
  const auto made = compile(program, {.disabled_passes = {"constant_foldin"}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("pass 'constant_foldin' is unknown; did you mean 'constant_folding'?"),
            std::string::npos)
      << made.error().message();
  EXPECT_TRUE(compile(program, {.disabled_passes = {"all", "dead_code"}}));
}

// What is dropped before an instruction does not change what errors call it.
TEST(Passes, ErrorsNameTheInstructionAsItWasWritten) {
  const std::string text =
      "inputs 2\nconst0 = 1.0 : f32\nconst1 = 2 : s32\nconst2 = 1 : s32\n%0 = multiply in0, const0\n%1 = negate in0\n"
      "%2 = negate %1\n%3 = negate in1\n%4 = cholesky %2\n";
  const mx::array bad = mx::array({-1.0f}, {1, 1});
  for (const Backend backend : {
           Backend::mlx,
           Backend::native,
       }) {
    const auto direct = compile(parsed(text + "return %4\n"), {.backend = backend}).value().run({bad, bad});
    ASSERT_FALSE(direct);
    EXPECT_EQ(direct.error().message().find("run: instruction 4 (cholesky): "), 0u) << direct.error().message();
    const std::string loop =
        "inputs 2\nconst0 = 1 : s32\n%0 = negate in0\n%1, %2 = while in1, in0 {\n"
        "  cond {\n    %0 = less carry0, const0\n    return %0\n  }\n"
        "  body {\n    %0 = negate carry1\n    %1 = negate %0\n    %2 = cholesky %1\n    %3 = add carry0, const0\n"
        "    return %3, %2\n  }\n}\nreturn %2\n";
    const auto inside = compile(parsed(loop), {.backend = backend}).value().run({bad, mx::array(0)});
    ASSERT_FALSE(inside);
    EXPECT_EQ(inside.error().message().find("run: instruction 2 (cholesky): "), 0u) << inside.error().message();
  }
}

TEST(Passes, HostCallsFireAsOften) {
  const Program program = parsed(
      "inputs 1\nconst0 = 1.0 : f32\n%0 = runtime_call in0 {callback = 0, results = [f32[]]}\n"
      "%1 = runtime_call in0 {callback = 0, results = [f32[]]}\n%2 = runtime_call in0 {callback = 1, results = "
      "[f32[]]}\n"
      "%3 = multiply %0, const0\n%4 = add %3, %3\nreturn %4\nkeep %1\n");
  const mx::array x(2.0f);
  const Shortened after = optimised(program, {x});
  for (const Program& one : {program, after.program}) {
    int fired = 0;
    const RunOptions options{.host = [&](const HostCall& call) -> Result<std::vector<mx::array>> {
      ++fired;
      return std::vector<mx::array>{call.operands[0]};
    }};
    const auto out = compile(one).value().run({x}, options).value();
    EXPECT_EQ(out[0].item<float>(), 4);
    EXPECT_EQ(fired, 2);
  }
}

TEST(Passes, OutputsMayBecomeInputsOrCaptures) {
  const Program program = parsed(
      "inputs 1\nconst0 = 1.0 : f32\nconst1 = 3 : s32\n%0 = multiply in0, const0\n"
      "%1 = iota {dtype = s32, axis = 0, shape = [3]}\n%2 = add %1, const1\nreturn %0, in0, %2, %2\n");
  for (const Backend backend : {
           Backend::mlx,
           Backend::native,
       }) {
    const mx::array x({1.0f, 2.0f});
    const Executable exe = compile(optimised(program, {x}).program, {.backend = backend}).value();
    for (int round = 0; round < 2; ++round) {
      std::vector<mx::array> donated;
      donated.push_back(mx::array({1.0f, 2.0f}));
      const auto out = exe.run(std::move(donated)).value();
      ASSERT_EQ(out.size(), 4u);
      EXPECT_TRUE(mx::array_equal(out[0], x).item<bool>());
      EXPECT_TRUE(mx::array_equal(out[1], x).item<bool>());
      EXPECT_TRUE(mx::array_equal(out[2], mx::array({3, 4, 5})).item<bool>());
      EXPECT_TRUE(mx::array_equal(out[3], mx::array({3, 4, 5})).item<bool>());
    }
  }
}

}  // namespace
}  // namespace reprise
