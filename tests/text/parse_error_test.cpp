#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <chrono>

#include "reprise/text.hpp"

namespace reprise {
namespace {

struct Case {
  std::string text;
  std::string error;
};

// `body` is preceded by three lines: version, inputs, and an empty one.
Case after_inputs(std::string body, std::string error) {
  return {"reprise 1\ninputs 2\n\n" + std::move(body), std::move(error)};
}

class ParseError : public testing::TestWithParam<Case> {};

TEST_P(ParseError, NamesPlaceSeenAndWanted) {
  const auto program = parse_program(GetParam().text);
  ASSERT_FALSE(program) << GetParam().text;
  EXPECT_EQ(program.error().code(), ErrorCode::parse);
  EXPECT_EQ(program.error().message(), GetParam().error) << GetParam().text;
}

const std::string kOperand = "wanted an operand: in0, cap0, const0, carry0 or %0";

INSTANTIATE_TEST_SUITE_P(
    Tables, ParseError,
    testing::Values(
        Case{"", "line 1, column 1: seen end of text, wanted 'reprise 1', the first line of a program"},
        Case{"# only a comment",
             "line 1, column 17: seen end of text, wanted 'reprise 1', the first line of a program"},
        Case{"\n\n  inputs 1", "line 3, column 3: seen 'inputs', wanted 'reprise 1', the first line of a program"},
        Case{"reprise", "line 1, column 8: seen end of text, wanted the version of the form, 1"},
        Case{"reprise 2\n",
             "line 1, column 9: seen '2', wanted version 1 of the form, the one that this library reads"},
        Case{"reprise 1 1", "line 1, column 11: seen '1', wanted end of line"},
        Case{"reprise 1\nreturn", "line 2, column 1: seen 'return', wanted 'inputs' and their number"},
        Case{"reprise 1\ninputs x", "line 2, column 8: seen 'x', wanted the number of inputs"},
        Case{"reprise 1\ninputs 1.5", "line 2, column 8: seen '1.5', wanted the number of inputs"},
        Case{"reprise 1\ninputs 2147483648", "line 2, column 8: seen '2147483648', wanted an integer of 32 bits"},
        Case{"reprise 1\ninputs 99999999999999999999",
             "line 2, column 8: seen '99999999999999999999', wanted an integer of 64 bits"},
        Case{"reprise 1\ninputs 1\n", "line 3, column 1: seen end of text, wanted an instruction or 'return'"},
        after_inputs("const1 = 1 : f32",
                     "line 4, column 1: seen 'const1', wanted 'const0': they are declared in order"),
        after_inputs("const0 1 : f32", "line 4, column 8: seen '1', wanted '='"),
        after_inputs("const0 = x : f32", "line 4, column 10: seen 'x', wanted a number, true, false or (re, im)"),
        after_inputs("const0 = 1e999 : f32",
                     "line 4, column 10: seen '1e999', wanted a number in the range of a binary64"),
        after_inputs("const0 = 36893488147419103232 : u64",
                     "line 4, column 10: seen '36893488147419103232', wanted an integer of 64 bits"),
        after_inputs("const0 = -9223372036854775809 : s64",
                     "line 4, column 10: seen '-9223372036854775809', wanted an integer of 64 bits"),
        after_inputs("const0 = 1", "line 4, column 11: seen end of text, wanted ':'"),
        after_inputs("const0 = 1 : float", "line 4, column 14: seen 'float', wanted a dtype such as f32"),
        after_inputs("const0 = (1.0) : c64", "line 4, column 14: seen ')', wanted ','"),
        after_inputs("const0 = bits(0xg) : f32",
                     "line 4, column 10: seen 'bits', wanted bits(0x...) with 1 to 16 hexadecimal digits"),
        after_inputs("const0 = bits(0x12345678901234567) : f32",
                     "line 4, column 10: seen 'bits', wanted bits(0x...) with 1 to 16 hexadecimal digits"),
        after_inputs("const0 = 1 : dtype(256)", "line 4, column 20: seen '256', wanted 0 to 255"),
        after_inputs("cap0 = w : f32[2]", "line 4, column 8: seen 'w', wanted a string in double quotes"),
        after_inputs("cap0 = \"w : f32[2]\n", "line 4, column 8: a string without its closing quote"),
        after_inputs("cap0 = \"w\\q\" : f32[2]\n",
                     "line 4, column 10: an unknown escape; wanted \\\", \\\\, \\n, \\r, \\t or \\x and two digits"),
        after_inputs("cap0 = \"w\\x0", "line 4, column 10: \\x without two hexadecimal digits"),
        after_inputs("cap0 = \"w\" : f32", "line 4, column 14: seen 'f32', wanted a tensor type such as f32[2, 3]"),
        after_inputs("cap0 = \"w\" : f32[2;3]", "line 4, column 19: seen ';', wanted ',' or ']'"),
        after_inputs("cap0 = \"w\" : f32[x]", "line 4, column 18: seen 'x', wanted an integer"),
        after_inputs("cap0 = \"w\" : f32[1] 2", "line 4, column 21: seen '2', wanted end of line")));

INSTANTIATE_TEST_SUITE_P(
    Instructions, ParseError,
    testing::Values(
        after_inputs("%1 = abs in0", "line 4, column 1: seen '%1', wanted '%0', the next result of this list"),
        after_inputs("%0 abs in0", "line 4, column 4: seen 'abs', wanted ',' or '='"),
        after_inputs("%0 = ", "line 4, column 6: seen end of text, wanted the name of an op"),
        after_inputs("%0 = 7", "line 4, column 6: seen '7', wanted the name of an op"),
        after_inputs("%0 = abs x", "line 4, column 10: seen 'x', " + kOperand),
        after_inputs("%0 = abs inx", "line 4, column 10: seen 'inx', " + kOperand),
        after_inputs("%0 = abs in0,", "line 4, column 14: seen end of text, " + kOperand),
        after_inputs("%0 = abs in0x", "line 4, column 10: seen 'in0x', " + kOperand),
        after_inputs("%0 = abs in99999999999999999999",
                     "line 4, column 10: seen 'in99999999999999999999', wanted an index of 64 bits"),
        after_inputs("%0 = add in0 in1", "line 4, column 14: seen 'in1', wanted ',', '{', 'attrs', ':' or end of line"),
        after_inputs("%0, %1 = abs in0\n", "line 4, column 1: seen 2 results, wanted 1: that many abs has"),
        after_inputs("abs in0\n", "line 4, column 1: seen 0 results, wanted 1: that many abs has"),
        after_inputs("%0 = abs in0 {axes = [1]}",
                     "line 4, column 15: seen 'axes', wanted '}': abs takes no attributes"),
        after_inputs("%0 = astype in0\n", "line 4, column 6: astype: attribute 'dtype' is missing; wanted dtype"),
        after_inputs("%0 = astype in0 {}\n", "line 4, column 18: astype: attribute 'dtype' is missing; wanted dtype"),
        after_inputs("%0 = astype in0 {dtyp = f32}",
                     "line 4, column 18: seen 'dtyp', wanted an attribute of astype: dtype; did you mean 'dtype'?"),
        after_inputs("%0 = astype in0 {dtype f32}", "line 4, column 24: seen 'f32', wanted '='"),
        after_inputs("%0 = astype in0 {dtype = f99}",
                     "line 4, column 26: seen 'f99', wanted dtype for attribute 'dtype'"),
        after_inputs("%0 = astype in0 {dtype = f32, dtype = f16}",
                     "line 4, column 31: seen 'dtype', wanted each attribute once"),
        after_inputs("%0 = astype in0 {dtype = f32", "line 4, column 29: seen end of text, wanted ',' or '}'"),
        after_inputs("%0 = astypo in0 {dtype = f32}",
                     "line 4, column 6: seen 'astypo', wanted an op that is known, for named attributes; did you mean "
                     "'astype'?"),
        after_inputs("%0 = abs in0 attrs(1 2)", "line 4, column 22: seen '2', wanted ',' or ')'"),
        after_inputs("%0 = abs in0 attrs(1.5)",
                     "line 4, column 20: seen '1.5', wanted an integer, a name or b\"bytes\""),
        after_inputs("%0 = abs in0 : f33[]", "line 4, column 16: seen 'f33', wanted a tensor type such as f32[2, 3]"),
        after_inputs("%0 = while in0 {\n  body {\n", "line 5, column 3: seen 'body', wanted 'cond' or '}'"),
        after_inputs("%0 = while in0 {\n cond {\n return\n }\n cond {",
                     "line 8, column 2: seen 'cond', wanted 'body' or '}'"),
        after_inputs("%0 = while in0 {\n cond {\n }", "line 6, column 2: seen '}', wanted an instruction or 'return'"),
        after_inputs("%0 = while in0 {\n cond { return in0 }", "line 5, column 9: seen 'return', wanted end of line"),
        after_inputs("return %0 : f32[]", "line 4, column 11: seen ':', wanted ',' or end of line"),
        after_inputs("return in0\nreturn in1", "line 5, column 1: seen 'return', wanted end of text"),
        after_inputs("%0 = abs in0\nconst0 = 1 : f32",
                     "line 5, column 1: seen 'const0', wanted an instruction or 'return': captures and constants come "
                     "before all instructions"),
        after_inputs("}", "line 4, column 1: seen '}', wanted an instruction or 'return'"),
        after_inputs("return\nnum_real_outputs 4294967296",
                     "line 5, column 18: seen '4294967296', wanted an integer of 32 bits")));

INSTANTIATE_TEST_SUITE_P(
    Attributes, ParseError,
    testing::Values(
        after_inputs(
            "%0 = sum in0 {axs = [1]}",
            "line 4, column 15: seen 'axs', wanted an attribute of sum: keep_axes, axes; did you mean 'axes'?"),
        after_inputs("%0 = sum in0 {axes = 1}",
                     "line 4, column 22: seen '1', wanted a list of integers for attribute 'axes'"),
        after_inputs("%0 = sum in0 {axes = [1 2]}", "line 4, column 25: seen '2', wanted ',' or ']'"),
        after_inputs("%0 = sum in0 {axes = [1,]}", "line 4, column 25: seen ']', wanted an integer"),
        after_inputs("%0 = sum in0 {axes = [9999999999]}",
                     "line 4, column 22: seen '[', wanted -2147483648 to 2147483647 for attribute 'axes'"),
        after_inputs("%0 = sum in0 {keep_axes = yes, axes = []}",
                     "line 4, column 27: seen 'yes', wanted true or false for attribute 'keep_axes'"),
        after_inputs("%0 = sum in0 {keep_axes = true}",
                     "line 4, column 15: sum: attribute 'axes' is missing; wanted integers"),
        after_inputs("%0 = sum in0", "line 4, column 6: sum: attribute 'axes' is missing; wanted integers"),
        after_inputs("%0 = fast_rms_norm in0, in1 {eps = small}",
                     "line 4, column 36: seen 'small', wanted real for attribute 'eps'"),
        after_inputs("%0 = argmax in0 {axis = 1.5}",
                     "line 4, column 25: seen '1.5', wanted integer for attribute 'axis'"),
        after_inputs("%0 = argmax in0 {axis = 3000000000}",
                     "line 4, column 25: seen '3000000000', wanted -1 to 2147483647 for attribute 'axis'"),
        after_inputs("%0 = quantized_matmul in0, in0, in0 {mode = int4}",
                     "line 4, column 45: seen 'int4', wanted affine, mxfp4, mxfp8 or nvfp4 for attribute 'mode'"),
        after_inputs(
            "%0 = put_slice in0, in1 {input_shape = [2, 3], lengths = [1], starts = [0, 0]}",
            "line 4, column 26: put_slice: attribute 'lengths' has 1 entries; wanted 2, as many as 'input_shape'")));

INSTANTIATE_TEST_SUITE_P(
    OddBytes, ParseError,
    testing::Values(Case{std::string("\0", 1),
                         "line 1, column 1: seen '\\x00', wanted 'reprise 1', the first line of a program"},
                    after_inputs(std::string("%0 = abs\0in0", 12), "line 4, column 9: seen '\\x00', " + kOperand),
                    // Columns count characters: the name is three bytes and two characters long.
                    after_inputs("%0 = \"\xc3\xa9s\" x", "line 4, column 11: seen 'x', " + kOperand),
                    after_inputs("\t%0 = abs x", "line 4, column 11: seen 'x', " + kOperand),
                    Case{"reprise 1\r\ninputs 1\r\n%0 = abs x\r\n", "line 3, column 10: seen 'x', " + kOperand},
                    Case{"reprise 1\ninputs 1\rreturn", "line 2, column 9: seen '\\x0d', wanted end of line"},
                    after_inputs("%0 = abs " + std::string(1000, 'x'),
                                 "line 4, column 10: seen '" + std::string(40, 'x') + "...', " + kOperand)));

// 100 MB on one line, good and bad: time and messages stay small.
TEST(LongText, IsReadInLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  const std::string head = "reprise 1\ninputs 1\n";
  std::string operands = head + "%0 = abs in0";
  while (operands.size() < 20'000'000) operands += ", in0";
  const auto many = parse_program(operands + "\nreturn %0\n");
  ASSERT_TRUE(many) << many.error().message();
  const auto bad = parse_program(operands + "!");
  ASSERT_FALSE(bad);
  EXPECT_LT(bad.error().message().size(), 200u);
  EXPECT_FALSE(parse_program(head + "const0 = " + std::string(100'000'000, '9') + " : f32"));
  EXPECT_FALSE(parse_program(head + "const0 = 0." + std::string(100'000'000, '9') + "x : f32"));
  EXPECT_FALSE(parse_program(head + "cap0 = \"" + std::string(100'000'000, 'a')));
  EXPECT_FALSE(parse_program(std::string(100'000'000, ' ')));
  EXPECT_FALSE(parse_program(std::string(100'000'000, '\n')));
  EXPECT_FALSE(parse_program(head + "%0 = while in0 " + std::string(10'000'000, '{')));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Captures, MustFitTheDeclarations) {
  const std::string text = "reprise 1\ninputs 0\ncap0 = \"w\" : f32[2]\ncap1 = \"none\" : none\nreturn cap0\n";
  const auto array = make_capture(mlx::core::array({1.0F, 2.0F}), "w").value();
  const auto message = [&](std::vector<Capture> captures) {
    const auto program = parse_program(text, captures);
    return program ? std::string("ok") : program.error().message();
  };
  EXPECT_EQ(message({array, {}}), "ok");
  EXPECT_EQ(message({{"", array.value}, {}}), "ok");
  EXPECT_EQ(message({}), "0 captures given; the text declares 2");
  EXPECT_EQ(message({{"v", array.value}, {}}), "cap0: the array given is called \"v\"; wanted \"w\"");
  EXPECT_EQ(message({{}, {}}), "cap0: no array is given; wanted f32[2]");
  EXPECT_EQ(message({array, array}), "cap1: an array is given; wanted none");
  EXPECT_EQ(message({make_capture(mlx::core::array({1, 2})).value(), {}}),
            "cap0 \"w\": the array is s32[2]; wanted f32[2]");
}

}  // namespace
}  // namespace reprise
