// The fuzzer's own parts: that it makes the same programs again, finds what is planted, and shrinks it.
#include <gtest/gtest.h>

#include <functional>

#include "fuzz/check.hpp"
#include "fuzz/compare.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/rewrite.hpp"
#include "fuzz/shrink.hpp"
#include "reprise/text.hpp"

namespace reprise::fuzz {
namespace {

FuzzCase program(std::uint64_t index, std::uint64_t seed = 5) {
  Tally tally;
  return generate({.seed = seed, .index = index, .linalg_errors = false}, tally);
}

FuzzCase from_text(const std::string& text, std::vector<ArraySpec> inputs) {
  FuzzCase one;
  one.data = parse_program("reprise 1\n" + text).value().data();
  one.inputs = std::move(inputs);
  return one;
}

ArraySpec floats(const Shape& shape, const std::vector<double>& values, DType d = DType::float32) {
  ArraySpec spec{{d, shape}, {}, Layout::dense};
  for (const double v : values) append(spec.bytes, d, v);
  return spec;
}

bool any_instruction(const FuzzCase& one, const std::function<bool(const VerifiedInstruction&, const TensorType&)>& f) {
  const TypedProgram types = typed(one).value();
  const std::function<bool(const VerifiedList&, const TypedList&)> in = [&](const VerifiedList& v, const TypedList& t) {
    for (std::size_t i = 0; i < v.instructions.size(); ++i) {
      const VerifiedInstruction& instruction = v.instructions[i];
      if (!instruction.operands.empty() && f(instruction, types.type_of(instruction.operands[0], t))) return true;
      for (std::size_t s = 0; s < instruction.subprograms.size(); ++s) {
        if (in(instruction.subprograms[s], t.subprograms[i][s])) return true;
      }
    }
    return false;
  };
  return in(types.verified().list(), types.types());
}

bool uses(const FuzzCase& one, std::string_view op) {
  return any_instruction(one, [&](const VerifiedInstruction& i, const TensorType&) { return i.op->name == op; });
}

TEST(Fuzz, TheSameSeedMakesTheSameProgram) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const FuzzCase a = program(i);
    const FuzzCase b = program(i);
    EXPECT_EQ(describe(a), describe(b));
    EXPECT_NE(describe(a), describe(program(i, 6)));
  }
}

TEST(Fuzz, DeadPartsGo) {
  const FuzzCase one = from_text(
      "inputs 3\nconst0 = 1.0 : f32\nconst1 = 2.0 : f32\n%0 = add in0, const0\n%1, %2 = qr in2\n%3 = add in1, const1\n"
      "return %3\n",
      {floats({2}, {1, 2}), floats({}, {3}), floats({1, 1}, {1})});
  EXPECT_EQ(print_program(Program(without_dead_parts(one).data)),
            "reprise 1\ninputs 1\nconst0 = 2.0 : f32\n%0 = add in0, const0\nreturn %0\n");
}

// In random programs that happen to have it, somewhere among other things.
TEST(Shrink, APlantedFaultToAFewLines) {
  const auto fails = [](const FuzzCase& one) {
    return any_instruction(one, [](const VerifiedInstruction& i, const TensorType& x) {
      return i.op->name == "tanh" && x.dtype == DType::bool_;
    });
  };
  int found = 0;
  for (std::uint64_t i = 0; i < 6000 && found < 3; ++i) {
    const FuzzCase one = program(i);
    if (!fails(one)) continue;
    ++found;
    const FuzzCase small = shrink(one, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_EQ(small.data.instructions.size(), 1u) << describe(small);
    EXPECT_LE(small.data.num_inputs, 1) << describe(small);
  }
  EXPECT_EQ(found, 3);
}

// Two instructions that belong together, in a loop.
TEST(Shrink, KeepsWhatTheFaultNeeds) {
  const FuzzCase one = from_text(R"(inputs 3
const0 = 0.0 : s32
const1 = 1.0 : s32
const2 = 3.0 : s32
%0 = exp in0
%1 = add %0, in1
%2, %3, %4 = while const0, %1, in2 {
  cond {
    %0 = less carry0, const2
    return %0
  }
  body {
    %0 = add carry0, const1
    %1 = sin carry1
    %2 = multiply %1, carry1
    %3 = sum %2 {axes = [0], keep_axes = true}
    %4 = subtract carry1, %3
    return %0, %4, %2
  }
}
%5 = tanh %3
return %5, %4
)",
                                 {floats({6}, {1, 2, 3, 4, 5, 6}), floats({1}, {1}), floats({6}, {0, 0, 0, 0, 0, 0})});
  const auto fails = [](const FuzzCase& c) {
    return any_instruction(c, [](const VerifiedInstruction& i, const TensorType&) {
      return i.op->name == "while" &&
             std::any_of(i.subprograms[1].instructions.begin(), i.subprograms[1].instructions.end(),
                         [](const auto& inner) { return inner.op->name == "sum"; });
    });
  };
  const FuzzCase small = shrink(one, fails);
  EXPECT_LE(count_instructions(small.data.instructions), 2u) << describe(small);
  EXPECT_TRUE(fails(small));
}

/// Runs programs with one op replaced.
class Broken : public Runner {
 public:
  using Replace = std::function<Operand(Rewriter&, const std::vector<Operand>&)>;
  Broken(std::string op, double factor, std::string instead)
      : op_(std::move(op)), factor_(factor), instead_(std::move(instead)) {}
  std::string_view name() const override { return "broken"; }
  Result<Outputs> run(const FuzzCase& one) const override {
    Change change(*this);
    return make_runner("mlx").value()->run(change.rewrite(one));
  }

 private:
  class Change : public Rewriter {
   public:
    explicit Change(const Broken& how) : how_(how) {}

   protected:
    std::vector<Operand> replace(const Item& item) override {
      if (item.op.name != how_.op_) return copy(item);
      Item changed = item;
      if (!how_.instead_.empty()) changed.instruction.op = how_.instead_;
      std::vector<Operand> out = copy(changed);
      if (how_.factor_ != 1 && is_floating(out[0].type.dtype)) {
        out[0] = add("multiply", {out[0], capture_of(filled({out[0].type.dtype, {}}, how_.factor_))});
      }
      return out;
    }

   private:
    const Broken& how_;
  };

  std::string op_;
  double factor_;
  std::string instead_;
};

struct Planted {
  std::string op;
  double factor;
  std::string instead;
};

class FindsPlanted : public testing::TestWithParam<Planted> {};

// Among the programs that use the op a fault must show soon, and what is left of it is little more than the op.
TEST_P(FindsPlanted, AndShrinksIt) {
  const Planted& planted = GetParam();
  const auto reference = make_runner("mlx").value();
  const Broken broken(planted.op, planted.factor, planted.instead);
  Comparison seen;
  int looked = 0;
  for (std::uint64_t i = 0; i < 4000 && looked < 60; ++i) {
    const FuzzCase one = program(i);
    if (!uses(one, planted.op)) continue;
    ++looked;
    if (!compare(one, *reference, broken, i, seen)) continue;
    const auto fails = [&](const FuzzCase& c) { return compare(c, *reference, broken, i, seen).has_value(); };
    const FuzzCase small = shrink(one, fails, {.max_tries = 300, .evaluate = reference.get()});
    EXPECT_LE(count_instructions(small.data.instructions), 3u) << describe(small);
    EXPECT_TRUE(uses(small, planted.op)) << describe(small);
    return;
  }
  FAIL() << "not found in " << looked << " programs that use the op";
}

INSTANTIATE_TEST_SUITE_P(Faults, FindsPlanted,
                         testing::Values(Planted{"floor", 1, "ceil"}, Planted{"less", 1, "less_equal"},
                                         Planted{"remainder", 1, "quotient"}, Planted{"tanh", 1.0001, ""},
                                         Planted{"sum", 1.0001, ""}, Planted{"dot", 1.001, ""},
                                         Planted{"fast_sdpa_causal", 1.01, ""}, Planted{"argmax", 1, "argmin"},
                                         Planted{"cumulative_max", 1, "cumulative_min"},
                                         Planted{"indexed_put", 1, "indexed_add"}, Planted{"cos", 1, "sin"}));

// What does not round does not move; what rounds moves by its tolerance and no more.
TEST(Noise, MovesWhatIsNotExact) {
  const auto reference = make_runner("mlx").value();
  Random random(1);
  const FuzzCase exact = from_text(
      "inputs 2\n%0 = add in0, in1\n%1 = multiply %0, in1\n%2 = sum %1 {axes = [0], keep_axes = false}\n"
      "%3 = floor %1\nreturn %1, %2, %3\n",
      {floats({3}, {0.25, -2.5, 3}), floats({3}, {4, 0.75, 1})});
  const auto plain = reference->run(exact).value();
  const auto moved = reference->run(noised(exact, trace_of(exact, *reference), random)).value();
  for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_EQ(plain[k].bytes, moved[k].bytes) << k;

  const FuzzCase inexact = from_text("inputs 1\n%0 = exp in0\nreturn %0\n", {floats({40}, std::vector<double>(40, 1))});
  const auto was = numbers({DType::float32, {40}}, reference->run(inexact).value()[0].bytes);
  const auto is = numbers({DType::float32, {40}},
                          reference->run(noised(inexact, trace_of(inexact, *reference), random)).value()[0].bytes);
  double most = 0;
  for (std::size_t i = 0; i < was.size(); ++i) most = std::max(most, std::abs(is[i] / was[i] - 1.0));
  EXPECT_GT(most, 1e-7);
  EXPECT_LT(most, 1e-6);
}

// Differences that an op's tolerance explains, magnified by what follows, are no faults; others are.
TEST(Compare, KnowsWhatAProgramMagnifies) {
  const auto reference = make_runner("mlx").value();
  const auto differs = [&](const FuzzCase& one, const Runner& other) {
    Comparison seen;
    return compare(one, *reference, other, 1, seen).has_value();
  };
  const Broken ulp("tanh", 1 + 2e-7, "");
  const Broken wrong("tanh", 1 + 1e-5, "");
  // tanh(x) - tanh(x rounded elsewhere): all digits cancel.
  const FuzzCase cancels = from_text(
      "inputs 1\nconst0 = 0.7615941762924194 : f32\nconst1 = 100000.0 : f32\n%0 = tanh in0\n%1 = subtract %0, const0\n"
      "%2 = multiply %1, const1\nreturn %2\n",
      {floats({1}, {1})});
  EXPECT_FALSE(differs(cancels, ulp));
  EXPECT_TRUE(differs(cancels, wrong));
  const FuzzCase flips =
      from_text("inputs 1\nconst0 = 0.7615941762924194 : f32\n%0 = tanh in0\n%1 = greater %0, const0\nreturn %1\n",
                {floats({1}, {1})});
  EXPECT_FALSE(differs(flips, ulp));
  const FuzzCase safe = from_text(
      "inputs 1\nconst0 = 0.5 : f32\n%0 = tanh in0\n%1 = greater %0, const0\n%2 = astype %1 {dtype = int32}\nreturn "
      "%2\n",
      {floats({1}, {1})});
  EXPECT_FALSE(differs(safe, wrong));
  EXPECT_TRUE(differs(safe, Broken("greater", 1, "less")));
}

}  // namespace
}  // namespace reprise::fuzz
