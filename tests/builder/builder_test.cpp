#include "reprise/builder.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include "ops/registry.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

std::string text_of(const Result<Program>& program) {
  return program ? print_program(*program) : "error: " + program.error().message();
}

TEST(Builder, WritesWhatTheTextSays) {
  Builder b;
  const Value x = b.input();
  const Value one = b.constant(1.0F);
  const Value w = b.capture(mlx::core::array({1.0F, 2.0F}), "w");
  const Value y = b.tanh(x * w + one);
  const Value z = b.op("astype", {-y}, {{"dtype", DType::float16}});
  EXPECT_EQ(text_of(b.build({z, y, x, w}, {one})),
            "reprise 1\ninputs 1\ncap0 = \"w\" : f32[2]\nconst0 = 1.0 : f32\n"
            "%0 = multiply in0, cap0\n%1 = add %0, const0\n%2 = tanh %1\n%3 = negate %2\n"
            "%4 = astype %3 {dtype = float16}\nreturn %4, %2, in0, cap0\nkeep const0\n");
}

TEST(Builder, Operators) {
  Builder b;
  const Value x = b.input();
  const Value y = b.input();
  EXPECT_EQ(text_of(b.build({x + y, x - y, x * y, x / y, -x, x<y, x <= y, x> y, x >= y})),
            "reprise 1\ninputs 2\n%0 = add in0, in1\n%1 = subtract in0, in1\n%2 = multiply in0, in1\n"
            "%3 = divide in0, in1\n%4 = negate in0\n%5 = less in0, in1\n%6 = less_equal in0, in1\n"
            "%7 = greater in0, in1\n%8 = greater_equal in0, in1\nreturn %0, %1, %2, %3, %4, %5, %6, %7, %8\n");
}

TEST(Builder, ConstantsTakeTheirTypeAndAreShared) {
  Builder b;
  const std::vector<Value> values = {b.constant(true),
                                     b.constant(1),
                                     b.constant(std::int64_t{1}),
                                     b.constant(std::uint8_t{1}),
                                     b.constant(UINT64_MAX),
                                     b.constant(1.0F),
                                     b.constant(1.0),
                                     b.constant(std::complex<float>(1, 2)),
                                     b.constant(1, DType::bfloat16),
                                     b.constant(0.0),
                                     b.constant(-0.0),
                                     b.constant(1),
                                     b.constant(Constant::of(2.5, DType::float64))};
  EXPECT_EQ(text_of(b.build(values)),
            "reprise 1\ninputs 0\nconst0 = true : bool\nconst1 = 1 : s32\nconst2 = 1 : s64\nconst3 = 1u : u8\n"
            "const4 = 18446744073709551615u : u64\nconst5 = 1.0 : f32\nconst6 = (1.0, 2.0) : c64\nconst7 = 1 : bf16\n"
            "const8 = 0.0 : f32\nconst9 = -0.0 : f32\nconst10 = 2.5 : f64\n"
            "return const0, const1, const2, const3, const4, const5, const5, const6, const7, const8, const9, const1, "
            "const10\n");
}

TEST(Builder, Loops) {
  Builder b;
  const Value n = b.input();
  const Value x = b.input();
  const Value limit = b.constant(10);
  const auto outs = b.while_loop(
      {n, x + x}, [&](Builder& sub, std::span<const Value> c) { return sub.less(c[0], limit); },
      [&](Builder& sub, std::span<const Value> c) -> std::vector<Value> {
        const auto inner = sub.while_loop(
            {c[1], c[1] * sub.constant(2)}, [&](Builder&, std::span<const Value> d) { return d[0] < d[1]; },
            [&](Builder& deep, std::span<const Value> d) -> std::vector<Value> {
              return {d[0] + deep.constant(1), d[1]};
            });
        return {c[0] + sub.constant(1), inner[0]};
      });
  EXPECT_EQ(text_of(b.build({outs[1] + x})),
            "reprise 1\ninputs 2\nconst0 = 10 : s32\nconst1 = 2 : s32\nconst2 = 1 : s32\n"
            "%0 = add in1, in1\n%1, %2 = while in0, %0 {\n"
            "  cond {\n    %0 = less carry0, const0\n    return %0\n  }\n"
            "  body {\n    %0 = multiply carry1, const1\n    %1, %2 = while carry1, %0 {\n"
            "      cond {\n        %0 = less carry0, carry1\n        return %0\n      }\n"
            "      body {\n        %0 = add carry0, const2\n        return %0, carry1\n      }\n    }\n"
            "    %3 = add carry0, const2\n    return %3, %1\n  }\n}\n%3 = add %2, in1\nreturn %3\n");
}

TEST(Builder, ReductionsShapesAndContractions) {
  Builder b;
  const Value x = b.input();
  const Value s = b.op("sum", {x}, {{"axes", {0}}, {"keep_axes", false}});
  const Value m = b.max(x, {0, 1}, true);
  const Value d = b.matmul(x, b.transpose(x, {1, 0}));
  const Value p = b.slice(d, {2, 2}, {0, 1}, {2, 1});
  const Value i = b.iota(DType::int32, -1, {2});
  EXPECT_EQ(
      text_of(b.build({s, m, b.take(p, i, 0)})),
      "reprise 1\ninputs 1\n%0 = sum in0 {keep_axes = false, axes = [0]}\n"
      "%1 = reduce_max in0 {keep_axes = true, axes = [0, 1]}\n%2 = transpose in0 {axes = [1, 0]}\n"
      "%3 = dot in0, %2 {contract_a = [1], contract_b = [0], batch_a = [], batch_b = []}\n"
      "%4 = slice %3 {dynamic_mask = 0, input_shape = [2, 2], lengths = [2, 1], strides = [1, 1], starts = [0, 1]}\n"
      "%5 = iota {dtype = int32, axis = -1, shape = [2]}\n%6 = take %4, %5 {axis = 0}\nreturn %0, %1, %6\n");
}

// Every row can be written by name, whatever its attributes; the thin functions are only spellings of it.
TEST(Builder, EveryElementwiseRow) {
  for (const ops::OpDef* op : ops::all_defs()) {
    if (op->attrs || ops::arity(*op).max > 3 || has(op->traits, ops::Trait::control)) continue;
    Builder b;
    std::vector<Value> operands;
    for (std::size_t i = 0; i < ops::arity(*op).min; ++i) operands.push_back(b.input());
    const auto program = b.build(b.ops(op->name, operands));
    EXPECT_TRUE(program) << op->name << ": " << program.error().message();
  }
}

// The functions name ops and attributes of the table; this notices when a row changes under them.
TEST(Builder, NamedFunctionsMatchTheTable) {
  Builder b;
  const Value x = b.input();
  const Value y = b.input();
  std::vector<Value> all = {b.abs(x),   b.negate(x), b.sign(x),    b.ceil(x),   b.floor(x),      b.round(x), b.sqrt(x),
                            b.rsqrt(x), b.exp(x),    b.expm1(x),   b.log(x),    b.log1p(x),      b.sin(x),   b.cos(x),
                            b.tanh(x),  b.erf(x),    b.sigmoid(x), b.is_nan(x), b.logical_not(x)};
  for (const Value& v : {b.add(x, y), b.subtract(x, y), b.multiply(x, y), b.divide(x, y), b.pow(x, y), b.quotient(x, y),
                         b.remainder(x, y), b.minimum(x, y), b.maximum(x, y), b.equal(x, y), b.not_equal(x, y),
                         b.less(x, y), b.less_equal(x, y), b.greater(x, y), b.greater_equal(x, y), b.logical_and(x, y),
                         b.logical_or(x, y), b.astype(x, DType::int32)}) {
    all.push_back(v);
  }
  const auto program = b.build(all);
  EXPECT_TRUE(program) << program.error().message();
  const auto offer = [&](std::string_view op, const std::function<Value(Builder&, Value, Value)>& write) {
    if (!ops::find_def(op)) return;
    Builder fresh;
    const Value a = fresh.input();
    const auto built = fresh.build({write(fresh, a, fresh.input())});
    EXPECT_TRUE(built) << op << ": " << built.error().message();
  };
  offer("select", [](Builder& f, Value p, Value q) { return f.select(p, p, q); });
  offer("clip", [](Builder& f, Value p, Value q) { return f.clip(p, q, q); });
  offer("sum", [](Builder& f, Value p, Value) { return f.sum(p, {0, 1}); });
  offer("product", [](Builder& f, Value p, Value) { return f.product(p, {1}, true); });
  offer("all", [](Builder& f, Value p, Value) { return f.all(p, {}); });
  offer("any", [](Builder& f, Value p, Value) { return f.any(p, {0}); });
  offer("reduce_max", [](Builder& f, Value p, Value) { return f.max(p, {0}); });
  offer("reduce_min", [](Builder& f, Value p, Value) { return f.min(p, {0}); });
  offer("argmax", [](Builder& f, Value p, Value) { return f.argmax(p, -1); });
  offer("argmin", [](Builder& f, Value p, Value) { return f.argmin(p, 0, true); });
  offer("reshape", [](Builder& f, Value p, Value) { return f.reshape(p, {2, 3}); });
  offer("squeeze", [](Builder& f, Value p, Value) { return f.squeeze(p, {0}); });
  offer("transpose", [](Builder& f, Value p, Value) { return f.transpose(p, {1, 0}); });
  offer("broadcast", [](Builder& f, Value p, Value) { return f.broadcast(p, {2, 3}, {1}); });
  offer("reverse", [](Builder& f, Value p, Value) { return f.reverse(p, {0}); });
  offer("concatenate", [](Builder& f, Value p, Value q) { return f.concatenate({p, q}, 0); });
  offer("stack", [](Builder& f, Value p, Value q) { return f.stack({p, q}, 0); });
  offer("iota", [](Builder& f, Value, Value) { return f.iota(DType::int32, -1, {2, 3}); });
  offer("take", [](Builder& f, Value p, Value q) { return f.take(p, q, 0); });
  offer("slice", [](Builder& f, Value p, Value) { return f.slice(p, {4, 5}, {0, 1}, {2, 2}); });
  offer("dot", [](Builder& f, Value p, Value q) { return f.matmul(p, q); });
}

class BuilderErrors : public testing::Test {
 protected:
  Builder b_;
  Value x_ = b_.input();

  std::string error(const std::vector<Value>& outputs) {
    const auto program = b_.build(outputs);
    return program ? "ok" : program.error().message();
  }
};

TEST_F(BuilderErrors, EmptyValue) {
  EXPECT_EQ(error({b_.abs(x_), b_.abs(Value())}), "builder: instruction 1 (abs): operand 0: an empty value");
  EXPECT_EQ(error({Value()}), "builder: instruction 1 (abs): operand 0: an empty value");  // the first one stays
}

TEST_F(BuilderErrors, EmptyOperandsOfAnOperator) {
  EXPECT_EQ(error({Value() + Value()}), "builder: output 0: an empty value");
}

TEST_F(BuilderErrors, OtherBuilder) {
  Builder other;
  const Value y = other.input();
  EXPECT_EQ(error({x_ + y}), "builder: instruction 0 (add): operand 1: value in0 of another builder");
}

TEST_F(BuilderErrors, UnknownOp) {
  EXPECT_EQ(error({b_.op("tanhh", {x_})}),
            "builder: instruction 0 (tanhh): unknown op \"tanhh\"; did you mean 'tanh'?");
}

TEST_F(BuilderErrors, Attributes) {
  EXPECT_EQ(error({b_.op("astype", {x_})}),
            "builder: instruction 0 (astype): attribute 'dtype' is missing; wanted dtype");
  Builder c;
  EXPECT_EQ(c.build({c.op("abs", {c.input()}, {{"axis", 0}})}).error().message(),
            "builder: instruction 0 (abs): attribute 'axis' given; wanted none");
  Builder d;
  EXPECT_EQ(d.build({d.op("astype", {d.input()}, {{"dtype", {0}}})}).error().message(),
            "builder: instruction 0 (astype): attribute 'dtype': wanted dtype");
}

TEST_F(BuilderErrors, WrongNumberOfOperands) {
  EXPECT_EQ(error({b_.op("add", {x_})}), "verify: instruction 0 (add): 1 operands; wanted 2");
}

TEST_F(BuilderErrors, OuterValueInALoop) {
  const Value outer = b_.tanh(x_);
  const auto outs = b_.while_loop(
      {x_}, [&](Builder&, std::span<const Value> c) { return c[0] < c[0]; },
      [&](Builder&, std::span<const Value> c) { return std::vector<Value>{c[0] + outer}; });
  EXPECT_EQ(error(outs),
            "builder: instruction 1 (while) body instruction 0 (add): operand 1: value %0 of the outer list used "
            "inside a loop; pass it as an operand");
}

TEST_F(BuilderErrors, OuterValueReturnedFromALoop) {
  const auto outs = b_.while_loop(
      {x_}, [&](Builder&, std::span<const Value>) { return x_; },
      [&](Builder&, std::span<const Value> c) { return std::vector<Value>{c[0]}; });
  EXPECT_EQ(error(outs),
            "builder: instruction 0 (while) cond output 0: value in0 of the outer list used inside a loop; pass it as "
            "an operand");
}

TEST_F(BuilderErrors, LoopValueOutside) {
  Value leaked;
  const auto outs = b_.while_loop(
      {x_}, [&](Builder&, std::span<const Value> c) { return leaked = c[0] < c[0]; },
      [&](Builder&, std::span<const Value> c) { return std::vector<Value>{c[0]}; });
  EXPECT_EQ(error({outs[0], leaked}), "builder: output 1: value %0 of a loop's list used outside it");
}

TEST_F(BuilderErrors, CondValueInTheBody) {
  Value slot;
  const auto outs = b_.while_loop(
      {x_}, [&](Builder&, std::span<const Value> c) { return slot = c[0]; },
      [&](Builder&, std::span<const Value>) { return std::vector<Value>{slot}; });
  EXPECT_EQ(error(outs), "builder: instruction 0 (while) body output 0: value carry0 of a loop's list used outside it");
}

TEST_F(BuilderErrors, InputAndBuildInALoop) {
  const auto outs = b_.while_loop(
      {x_},
      [&](Builder& sub, std::span<const Value> c) {
        EXPECT_EQ(sub.build({c[0]}).error().message(), "build() called inside a loop");
        return sub.input();
      },
      [&](Builder&, std::span<const Value> c) { return std::vector<Value>{c[0]}; });
  EXPECT_EQ(error(outs),
            "builder: instruction 0 (while) cond input: taken inside a loop; wanted outside, and passed to the loop as "
            "an operand");
}

TEST_F(BuilderErrors, MissingLoopFunctionsAndTooFewOutputs) {
  EXPECT_EQ(error(b_.while_loop({x_}, nullptr, nullptr)), "builder: instruction 0 (while) cond : no function given");
  Builder c;
  const Value y = c.input();
  const auto outs = c.while_loop(
      {y}, [](Builder&, std::span<const Value> s) { return s[0]; },
      [](Builder&, std::span<const Value>) { return std::vector<Value>{}; });
  EXPECT_EQ(c.build(outs).error().message(),
            "verify: instruction 0 (while) body: returns 0 values; wanted 1, one for each carry slot");
  Builder d;
  EXPECT_EQ(d.build(d.ops("while", {d.input()})).error().message(),
            "builder: instruction 0 (while): has sub-programs; wanted while_loop()");
}

TEST_F(BuilderErrors, AThrowingLoopFunctionLeavesTheBuilderUsable) {
  EXPECT_THROW(b_.while_loop(
                   {x_}, [](Builder&, std::span<const Value>) -> Value { throw std::runtime_error("mine"); }, nullptr),
               std::runtime_error);
  EXPECT_EQ(error({b_.abs(x_)}), "ok");
}

TEST_F(BuilderErrors, TheFirstMistakeCanBeSeenBeforeBuild) {
  EXPECT_EQ(b_.error(), nullptr);
  b_.op("no_such_op", {x_});
  b_.op("sum", {x_});
  ASSERT_NE(b_.error(), nullptr);
  EXPECT_NE(b_.error()->message().find("no_such_op"), std::string::npos);
}

TEST_F(BuilderErrors, CaptureThatFailsToEvaluate) {
  const auto singular = mlx::core::linalg::inv(mlx::core::zeros({2, 2}), mlx::core::Device::cpu);
  const std::string text = error({b_.capture(singular, "s")});
  EXPECT_NE(text.find("builder: capture: capture 's': "), std::string::npos) << text;
}

TEST_F(BuilderErrors, ValuesOutliveTheirBuilder) {
  Value orphan;
  {
    Builder gone;
    orphan = gone.input();
  }
  orphan = orphan + orphan;
  EXPECT_EQ(error({orphan}), "builder: output 0: value %0 of another builder");
}

TEST_F(BuilderErrors, CanGoOnAfterBuild) {
  const Value y = b_.abs(x_);
  EXPECT_EQ(error({y}), "ok");
  EXPECT_EQ(error({b_.tanh(y)}), "ok");
}

}  // namespace
}  // namespace reprise
