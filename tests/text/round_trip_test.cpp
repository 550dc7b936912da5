#include <gtest/gtest.h>

#include <cmath>

#include "io/text/print.hpp"
#include "random_program.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

std::vector<Capture> unnamed(const std::vector<Capture>& captures) {
  std::vector<Capture> out = captures;
  for (Capture& c : out) c.name.clear();
  return out;
}

// Printed text reads back to an equal program, and prints the same again.
void expect_round_trip(const Program& program) {
  const std::string text = print_program(program);
  const auto back = parse_program(text, unnamed(program->captures));
  ASSERT_TRUE(back) << back.error().message() << "\n" << text;
  EXPECT_TRUE(*back == program) << text;
  EXPECT_EQ(print_program(*back), text);
}

Program parsed(std::string_view text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.error().message();
  return program ? *program : Program(ProgramData{});
}

// Texts in the form that the printer uses.
TEST(RoundTrip, PrintsWhatItRead) {
  const std::string_view texts[] = {
      "reprise 1\ninputs 0\nreturn\n",
      "reprise 1\ninputs 2\nreturn in1, in0, in0\n",
      "reprise 1\ninputs 1\nconst0 = 1.5 : f32\n%0 = add in0, const0\n%1 = tanh %0\nreturn %1\nkeep %0\n",
      "reprise 1\ninputs 1\n%0 = astype in0 {dtype = bfloat16}\nreturn %0\n",
      "reprise 1\ninputs 2\nconst0 = 10 : s32\n"
      "%0, %1 = while in0, in1 {\n"
      "  cond {\n    %0 = less carry0, const0\n    return %0\n  }\n"
      "  body {\n    %0 = add carry0, const0\n    return %0, carry1\n  }\n"
      "}\nreturn %1, %0\n",
      "reprise 1\ninputs 1\n%0 = \"weird op\" in-1, %7, carry0\nreturn\n",
      "reprise 1\ninputs 1\n%0 = abs in0 attrs(1, float32, b\"\\x00ab\", \"two words\")\nreturn %0\n",
      "reprise 1\ninputs -3\nreturn in0\nnum_real_outputs -3\n",
      "reprise 1\ninputs 1\nreturn\nnum_real_outputs 1\n",
      "reprise 1\ninputs 2\n%0 = sum in0 {keep_axes = false, axes = [1, -1]}\n"
      "%1 = dot %0, in1 {contract_a = [0], contract_b = [0], batch_a = [], batch_b = []}\n"
      "%2 = iota {dtype = int32, axis = -1, shape = [2, 3]}\n"
      "%3 = fast_rms_norm %1, %2 {eps = 1e-05}\n%4 = fast_rms_norm %1, %2 {eps = bits(0x7ff8000000000001)}\n"
      "%5 = pad %4, in1 {low = [1, 0], high = [0, 2], interior = [0, 0]}\nreturn %5\n",
      "reprise 1\ninputs 1\nwhile {\n}\nreturn\n",
      "reprise 1\ninputs 1\n%0 = abs in0 {\n  sub {\n    return carry0\n  }\n}\nreturn %0\n",
      "reprise 1\ninputs 0\n%0 = ref ref(9, -5)\nreturn ref(200, 0)\n",
  };
  for (const auto text : texts) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << program.error().message() << "\n" << text;
    if (!text.starts_with("reprise 1\ninputs 1\nwhile {")) {  // an empty block prints as none
      EXPECT_EQ(print_program(*program), text);
    }
    expect_round_trip(*program);
  }
}

TEST(RoundTrip, HandWrittenTextMayBeLoose) {
  const Program loose = parsed(
      "\xef\xbb\xbf# a program\r\n\r\n  reprise\t1 # version\r\ninputs 1 : f32[8]\r\n"
      "const0=1.5:float32 # half\r\n\t%0=add   in0,const0:f32[8]\r\n"
      "%1 = astype %0 { dtype = f16 } : f16[8]\r\n\r\nreturn %1 # done\r\n# end");
  const Program strict = parsed(
      "reprise 1\ninputs 1\nconst0 = 1.5 : f32\n%0 = add in0, const0\n%1 = astype %0 {dtype = float16}\nreturn %1\n");
  EXPECT_TRUE(loose == strict);
}

TEST(RoundTrip, NoLineEndAtTheEnd) {
  EXPECT_TRUE(parsed("reprise 1\ninputs 1\nreturn in0") == parsed("reprise 1\ninputs 1\nreturn in0\n"));
}

TEST(RoundTrip, ConstantsKeepKindBitsAndDtype) {
  ProgramData data;
  const double reals[] = {0.0,
                          -0.0,
                          1.0,
                          0.1,
                          1e300,
                          -1e-300,
                          5e-324,
                          1e22,
                          INFINITY,
                          -INFINITY,
                          std::nan(""),
                          1.7976931348623157e308,
                          -std::nan(""),
                          std::bit_cast<double>(0x7ff8000000000001),
                          std::bit_cast<double>(0x7ff0000000000001)};
  for (const double r : reals) {
    data.constants.push_back(Constant::of(r, DType::float32));
    data.constants.push_back(Constant::of(std::complex<double>(r, -r), DType::complex64));
  }
  for (const std::int64_t i :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, INT64_MAX, INT64_MIN, std::int64_t{9007199254740993}}) {
    for (const DType d : {DType::bool_, DType::int64, DType::float32, DType::uint64}) {
      data.constants.push_back(Constant::of(i, d));
      data.constants.push_back(Constant::of(static_cast<std::uint64_t>(i), d));
    }
  }
  expect_round_trip(Program(data));
}

TEST(RoundTrip, ConstantSpellings) {
  const Program program = parsed(
      "reprise 1\ninputs 0\n"
      "const0 = 9007199254740993 : s64\nconst1 = 18446744073709551615 : u64\nconst2 = 3u : u8\n"
      "const3 = -inf : f32\nconst4 = true : bool\nconst5 = (1, -2e3) : c64\nconst6 = bits(0x3ff0000000000000) : f32\n"
      "const7 = 7. : bf16\nconst8 = nan : f64\nreturn\n");
  const auto& c = program->constants;
  EXPECT_TRUE(c[0] == Constant::of(std::int64_t{9007199254740993}, DType::int64));
  EXPECT_TRUE(c[1] == Constant::of(UINT64_MAX, DType::uint64));
  EXPECT_TRUE(c[2] == Constant::of(std::uint64_t{3}, DType::uint8));
  EXPECT_TRUE(c[3] == Constant::of(-INFINITY, DType::float32));
  EXPECT_TRUE(c[4] == Constant::of(std::int64_t{1}, DType::bool_));
  EXPECT_TRUE(c[5] == Constant::of(std::complex<double>(1, -2000), DType::complex64));
  EXPECT_TRUE(c[6] == Constant::of(1.0, DType::float32));
  EXPECT_TRUE(c[7] == Constant::of(7.0, DType::bfloat16));
  EXPECT_TRUE(std::isnan(std::get<double>(c[8].value)));
}

// Every row prints its attributes by name when they decode, and raw when the name form would not say the same.
TEST(RoundTrip, EveryOpOfTheTable) {
  RandomProgram random(7);
  for (const ops::OpDef* op : ops::all_defs()) {
    ProgramData data;
    Instruction bare;
    bare.op = std::string(op->name);
    bare.operands = {input(0), input(1)};
    Instruction odd = bare;
    odd.attrs = {std::int64_t{2}, Name{"float32"}, Bytes{std::string("\0\xff", 2)}};
    data.instructions = {bare, odd};
    expect_round_trip(Program(data));
  }
}

TEST(RoundTrip, FlagsThatAreNotZeroOrOneStayRaw) {
  // A flag and then a list: two attributes decode, so that only the flag's value keeps them from being named.
  const ops::OpDef* op = ops::find_def("sum");
  ASSERT_TRUE(op && op->attrs->fields[0].kind == ops::FieldKind::flag);
  ProgramData data;
  Instruction i;
  i.op = std::string(op->name);
  i.attrs = {std::int64_t{2}, std::int64_t{0}};
  data.instructions = {i};
  const std::string text = print_program(Program(data));
  EXPECT_NE(text.find("attrs(2, 0)"), std::string::npos) << text;
  expect_round_trip(Program(data));
}

TEST(RoundTrip, RandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram random(seed);
    expect_round_trip(Program(random.next()));
    if (HasFailure()) return;
  }
}

TEST(RoundTrip, RandomValidPrograms) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_valid_program(seed);
    ASSERT_TRUE(program) << program.error().message();
    expect_round_trip(*program);
    auto verified = std::make_shared<const VerifiedProgram>(verify(*program).value());
    const std::vector<TensorType> types(static_cast<std::size_t>((*program)->num_inputs), {DType::float32, {2, 3}});
    const auto typed = infer(verified, types);
    ASSERT_TRUE(typed) << typed.error().message() << "\n" << print_program(*program);
    const auto back = parse_program(print_program(*typed));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_TRUE(*back == *program);
    if (HasFailure()) return;
  }
}

// As deep as the contract allows works; deeper is cut when printed and refused when read, at no risk to the stack.
TEST(RoundTrip, NestingIsBounded) {
  const auto nested = [](int depth) {
    ProgramData data;
    std::vector<Instruction>* list = &data.instructions;
    for (int i = 0; i < depth; ++i) {
      Instruction loop;
      loop.op = "while";
      loop.operands = {input(0)};
      loop.subprograms.resize(2);
      list->push_back(std::move(loop));
      list = &list->back().subprograms[1].instructions;
    }
    return Program(std::move(data));
  };
  expect_round_trip(nested(64));
  const auto refused = parse_program(print_program(nested(65)));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("lists nest deeper than 64"), std::string::npos);
  EXPECT_NE(print_program(nested(1000)).find("# nested deeper than 64: left out"), std::string::npos);
}

}  // namespace
}  // namespace reprise
