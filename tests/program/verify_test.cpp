#include "program/verify.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include "reprise/text.hpp"

namespace reprise {
namespace {

/// A body of text, and a fragment of every fault that verify() must find in it.
struct Case {
  std::string name;
  std::string text;
  std::vector<std::string> faults;
};

class Verify : public testing::TestWithParam<Case> {};

TEST_P(Verify, FindsEveryFault) {
  const auto program = parse_program("reprise 1\n" + GetParam().text);
  ASSERT_TRUE(program) << program.error().message();
  std::vector<Error> found;
  const auto verified = verify(*program, &found);
  if (GetParam().faults.empty()) {
    EXPECT_TRUE(verified) << verified.error().message();
    return;
  }
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code(), ErrorCode::verify);
  ASSERT_EQ(found.size(), GetParam().faults.size()) << verified.error().message();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].code(), ErrorCode::verify);
    EXPECT_NE(found[i].message().find(GetParam().faults[i]), std::string::npos)
        << found[i].message() << "\nwanted: " << GetParam().faults[i];
    EXPECT_NE(verified.error().message().find(GetParam().faults[i]), std::string::npos) << verified.error().message();
  }
}

const std::string kLoop = "  cond {\n return const0\n }\n body {\n return carry0\n }\n";

INSTANTIATE_TEST_SUITE_P(
    Contract, Verify,
    testing::Values(
        Case{"Good",
             "inputs 1\nconst0 = 1 : s32\n%0 = add in0, const0\n%1 = while %0 {\n" + kLoop + "}\nreturn %1\n",
             {}},
        Case{"PassThrough", "inputs 1\nconst0 = 1 : s32\nreturn in0, in0, const0\n", {}},
        Case{"E2_UnknownRefKind",
             "inputs 1\n%0 = abs ref(9, 0)\nreturn %0\n",
             {"verify: instruction 0 (abs) operand 0: unknown ref kind 9"}},
        Case{"E3_UnknownConstantDtype",
             "inputs 0\nconst0 = 1 : dtype(99)\nreturn const0\n",
             {"constant 0: Unknown dtype: 99"}},
        Case{"E5_UnknownOp",
             "inputs 1\n%0 = frobnicate in0\nreturn %0\n",
             {"instruction 0 (frobnicate): unknown op \"frobnicate\""}},
        Case{"E5_UnknownOpInALoop",
             "inputs 1\nconst0 = 1 : s32\n%0 = while in0 {\n cond {\n %0 = nope\n return %0\n }\n body {\n return "
             "carry0\n "
             "}\n}\nreturn %0\n",
             {"instruction 0 (while) cond instruction 0 (nope): unknown op \"nope\""}},
        Case{"E6_NoSubprograms",
             "inputs 1\n%0 = while in0\nreturn %0\n",
             {"instruction 0 (while): must have exactly 2 subprograms (cond, body), got 0"}},
        Case{"E6_OneSubprogram",
             "inputs 1\n%0 = while in0 {\n cond {\n return carry0\n }\n}\nreturn %0\n",
             {"must have exactly 2 subprograms (cond, body), got 1"}},
        Case{"E6_ThreeSubprograms",
             "inputs 1\nconst0 = 1 : s32\n%0 = while in0 {\n" + kLoop + "sub {\n return\n }\n}\nreturn %0\n",
             {"must have exactly 2 subprograms (cond, body), got 3"}},
        Case{"E8_InputInsideALoop",
             "inputs 1\n%0 = while in0 {\n cond {\n return in0\n }\n body {\n %0 = abs in0\n return %0\n }\n}\nreturn "
             "%0\n",
             {"instruction 0 (while) cond output 0: {:input, _} ref found inside",
              "instruction 0 (while) body instruction 0 (abs) operand 0: {:input, _} ref found inside"}},
        Case{"E9_CarryOutsideALoop",
             "inputs 1\n%0 = abs carry0\nreturn %0, carry1\n",
             {"instruction 0 (abs) operand 0: {:carry, _} ref found outside",
              "output 1: {:carry, _} ref found outside"}},
        Case{"E10_OutOfRange",
             "inputs 1\nconst0 = 1 : f32\n%0 = add in1, const1\n%1 = add cap0, %1\nreturn %2\n",
             {"instruction 0 (add) operand 0: in1 is out of range: there are 1 inputs",
              "instruction 0 (add) operand 1: const1 is out of range: there are 1 constants",
              "instruction 1 (add) operand 0: cap0 is out of range: there are 0 captures",
              "instruction 1 (add) operand 1: %1 is out of range: there are 1 results so far",
              "output 0: %2 is out of range: there are 2 results so far"}},
        Case{"E10_ResultOfTheOuterList",
             "inputs 1\nconst0 = 1 : s32\n%0 = abs in0\n%1 = while %0 {\n cond {\n return %0\n }\n body {\n return "
             "carry1\n "
             "}\n}\nreturn %1\n",
             {"cond output 0: %0 is out of range: there are 0 results so far",
              "body output 0: carry1 is out of range: there are 1 carry slots"}},
        Case{"E11_UnknownDtypeName",
             "inputs 1\n%0 = astype in0 attrs(float99)\nreturn %0\n",
             {"instruction 0 (astype): attribute 'dtype': Unknown dtype: float99"}},
        Case{"E12_WrongVariant",
             "inputs 1\n%0 = astype in0 attrs(7)\nreturn %0\n",
             {"attribute 'dtype' (position 0) is the integer 7; wanted a dtype name"}},
        Case{"E12_Bytes",
             "inputs 1\n%0 = astype in0 attrs(b\"x\")\nreturn %0\n",
             {"is a byte string; wanted a dtype name"}},
        Case{"E15_CondAndBodyCounts",
             "inputs 2\n%0, %1 = while in0, in1 {\n cond {\n return carry0, carry1\n }\n body {\n return carry0\n "
             "}\n}\nreturn %0\n",
             {"cond: must produce exactly one output, got 2", "body: returns 1 values; wanted 2"}},
        Case{"H2_TooFewOperands",
             "inputs 1\n%0 = add in0\n%1 = abs\nreturn %0, %1\n",
             {"instruction 0 (add): 1 operands; wanted 2", "instruction 1 (abs): 0 operands; wanted 1"}},
        Case{"H2_TooManyOperands",
             "inputs 1\n%0 = abs in0, in0\nreturn %0\n",
             {"instruction 0 (abs): 2 operands; wanted 1"}},
        Case{"H2_TooFewAttributes", "inputs 1\n%0 = astype in0 attrs()\nreturn %0\n", {"attribute 'dtype' is missing"}},
        Case{"H2_TooManyAttributes",
             "inputs 1\n%0 = astype in0 attrs(float32, 1)\nreturn %0\n",
             {"2 attributes given; wanted 1"}},
        Case{"H5_NegativeRealOutputs",
             "inputs 1\nreturn in0\nnum_real_outputs -1\n",
             {"num_real_outputs is -1; wanted 0 to 1"}},
        Case{"H5_TooManyRealOutputs",
             "inputs 1\nreturn in0\nnum_real_outputs 2\n",
             {"num_real_outputs is 2; wanted 0 to 1"}},
        Case{"H8_NegativeIndices",
             "inputs 1\n%0 = add in-1, const-1\nreturn %-1, cap-9223372036854775808\n",
             {"in-1 is out of range", "const-1 is out of range", "%-1 is out of range",
              "cap-9223372036854775808 is out of range"}},
        Case{"H9_SubprogramsElsewhere",
             "inputs 1\n%0 = abs in0 {\n sub {\n return\n }\n}\nreturn %0\n",
             {"instruction 0 (abs): 1 subprograms; wanted none"}},
        Case{"H9_AttributesOnWhile",
             "inputs 1\nconst0 = 1 : s32\n%0 = while in0 attrs(1) {\n" + kLoop + "}\nreturn %0\n",
             {"instruction 0 (while): 1 attributes; wanted none"}},
        Case{"NegativeInputs", "inputs -2\nreturn\n", {"num_inputs is -2; wanted 0 or more"}},
        Case{"AfterAnUnknownOpLaterResultsAreNotJudged",
             "inputs 1\n%0 = nope in0\n%1 = abs %5\nreturn %9\n",
             {"unknown op \"nope\""}},
        Case{"AllInOneReport",
             "inputs 1\n%0 = nope in3\n%1 = add in0\n%2 = abs carry0\nreturn in7\nnum_real_outputs 5\n",
             {"in3 is out of range", "unknown op \"nope\"", "1 operands; wanted 2", "ref found outside",
              "in7 is out of range", "num_real_outputs is 5"}}),
    [](const auto& test) { return test.param.name; });

TEST(VerifyCaptures, E4_MustHoldEvaluatedArrays) {
  ProgramData data;
  data.captures.push_back({"none", nullptr});
  data.captures.push_back(
      {"lazy", std::make_shared<const mlx::core::array>(mlx::core::array(1.0F) + mlx::core::array(2.0F))});
  std::vector<Error> faults;
  EXPECT_FALSE(verify(Program(data), &faults));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].message(), "verify: capture 0 has no array");
  EXPECT_EQ(faults[1].message(), "verify: capture 1 is not evaluated");
}

TEST(VerifyNesting, IsBounded) {
  const auto nested = [](int depth) {
    ProgramData data;
    data.num_inputs = 1;
    std::vector<Instruction>* list = &data.instructions;
    Ref operand = input(0);
    for (int i = 0; i < depth; ++i) {
      Instruction loop{"while", {operand}, {}, {{{}, {carry(0)}}, {{}, {carry(0)}}}};
      list->push_back(std::move(loop));
      list = &list->back().subprograms[1].instructions;
      operand = carry(0);
    }
    return Program(std::move(data));
  };
  EXPECT_TRUE(verify(nested(kMaxNesting)));
  const auto refused = verify(nested(kMaxNesting + 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("loops nest deeper than 64"), std::string::npos);
}

// A fault is longer than what causes it, so a hostile program must not get one for each of a million mistakes.
TEST(VerifyReport, IsBounded) {
  ProgramData data;
  data.outputs.assign(1'000'000, input(0));
  std::vector<Error> faults;
  const auto refused = verify(Program(data), &faults);
  ASSERT_FALSE(refused);
  EXPECT_EQ(faults.size(), 1000u);
  EXPECT_TRUE(refused.error().message().starts_with("1000 or more faults; "));
}

TEST(VerifyReport, StaysOneShortLineWhateverTheNames) {
  ProgramData data;
  Instruction instruction;
  instruction.op = "a\nb" + std::string(1'000'000, 'x');
  instruction.operands.assign(100, carry(0));
  data.instructions = {instruction, {"astype", {constant(0)}, {Name{"\n" + std::string(1'000'000, 'y')}}, {}}};
  const auto refused = verify(Program(data));
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().message().size(), 5000u);
  EXPECT_EQ(refused.error().message().find('\n'), std::string::npos);
  std::vector<Error> faults;
  EXPECT_FALSE(verify(Program(data), &faults));
  EXPECT_TRUE(
      faults.back().message().starts_with("verify: instruction 1 (astype): attribute 'dtype': Unknown dtype: \\x0ayyy"))
      << faults.back().message();
}

TEST(VerifyReport, CountsWhatItDoesNotSpellOut) {
  ProgramData data;
  data.outputs.assign(100, input(0));
  std::vector<Error> faults;
  const auto refused = verify(Program(data), &faults);
  ASSERT_FALSE(refused);
  EXPECT_EQ(faults.size(), 100u);
  EXPECT_TRUE(refused.error().message().ends_with("; ..."));
}

}  // namespace
}  // namespace reprise
