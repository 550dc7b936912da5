#include "program/infer.hpp"

#include <gtest/gtest.h>

#include "reprise/text.hpp"

namespace reprise {
namespace {

Result<TypedProgram> typed(std::string_view text, std::vector<TensorType> inputs, std::int64_t max_bytes = 0) {
  auto program = parse_program("reprise 1\n" + std::string(text));
  if (!program) return program.error();
  auto verified = verify(*program);
  if (!verified) return verified.error();
  return infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), inputs, max_bytes);
}

// Types of the outputs, or the error.
std::string outputs(std::string_view text, std::vector<TensorType> inputs, std::int64_t max_bytes = 0) {
  const auto program = typed(text, std::move(inputs), max_bytes);
  if (!program) return program.error().message();
  std::string out;
  for (const Ref& ref : program->program()->outputs) {
    out += (out.empty() ? "" : ", ") + to_string(program->type_of(ref));
  }
  return out;
}

TensorType f32(Shape shape) { return {DType::float32, std::move(shape)}; }
TensorType s32(Shape shape) { return {DType::int32, std::move(shape)}; }

const std::string kAdd = "inputs 2\n%0 = add in0, in1\nreturn %0\n";

TEST(Infer, Broadcasts) {
  EXPECT_EQ(outputs(kAdd, {f32({2, 3}), f32({3})}), "f32[2, 3]");
  EXPECT_EQ(outputs(kAdd, {f32({4, 1, 3}), f32({5, 1})}), "f32[4, 5, 3]");
  EXPECT_EQ(outputs(kAdd, {f32({}), f32({0, 2})}), "f32[0, 2]");
  EXPECT_EQ(outputs(kAdd, {f32({1}), f32({0})}), "f32[0]");
  EXPECT_EQ(
      outputs(kAdd, {f32({2, 3}), f32({2})}),
      "infer: instruction 0 (add): b is f32[2], which does not broadcast with [2, 3]: axis 0 has 2, wanted 3 or 1");
  EXPECT_EQ(outputs(kAdd, {f32({2}), f32({0})}),
            "infer: instruction 0 (add): b is f32[0], which does not broadcast with [2]: axis 0 has 0, wanted 2 or 1");
}

TEST(Infer, Promotes) {
  const auto type = [](DType d) { return TensorType{d, {}}; };
  EXPECT_EQ(outputs(kAdd, {type(DType::uint8), type(DType::int8)}), "s16[]");
  EXPECT_EQ(outputs(kAdd, {type(DType::uint64), type(DType::int8)}), "f32[]");
  EXPECT_EQ(outputs(kAdd, {type(DType::float16), type(DType::bfloat16)}), "f32[]");
  EXPECT_EQ(outputs(kAdd, {type(DType::int64), type(DType::float16)}), "f16[]");
  // Scalars are not weak.
  EXPECT_EQ(outputs("inputs 1\nconst0 = 1.0 : f32\n%0 = add in0, const0\nreturn %0\n", {{DType::float16, {4}}}),
            "f32[4]");
  EXPECT_EQ(outputs("inputs 2\n%0 = divide in0, in1\n%1 = less in0, in1\n%2 = sqrt in0\nreturn %0, %1, %2\n",
                    {s32({2}), s32({2})}),
            "f32[2], bool[2], f32[2]");
}

TEST(Infer, RefusesDtypesThatTheRowLacks) {
  EXPECT_EQ(
      outputs("inputs 1\n%0 = negate in0\nreturn %0\n", {{DType::bool_, {}}}),
      "infer: instruction 0 (negate): x has dtype bool; wanted uint8, uint16, uint32, uint64, int8, int16, int32, "
      "int64, float16, float32, float64, bfloat16, complex64");
  EXPECT_EQ(outputs("inputs 2\n%0 = left_shift in0, in1\nreturn %0\n", {{DType::uint64, {}}, {DType::int8, {}}}),
            "infer: instruction 0 (left_shift): a is u64[] and b is s8[]: their common dtype is float32; wanted an "
            "integer dtype");
}

TEST(Infer, CountsInputs) {
  EXPECT_EQ(outputs(kAdd, {f32({2})}), "infer: 1 inputs given; the program takes 2");
  EXPECT_EQ(outputs(kAdd, {f32({2}), f32({-1})}), "infer: input 1 is f32[-1]; a dimension may have 0 to 2147483647");
}

std::string loop(std::string_view cond, std::string_view body) {
  return "inputs 2\nconst0 = 10 : s32\nconst1 = 1.5 : f32\n%0, %1 = while in0, in1 {\n cond {\n" + std::string(cond) +
         "\n }\n body {\n" + std::string(body) + "\n }\n}\nreturn %0, %1\n";
}

TEST(Infer, Loops) {
  EXPECT_EQ(outputs(loop("%0 = less carry0, const0\nreturn %0", "%0 = multiply carry1, const1\nreturn carry0, %0"),
                    {s32({}), f32({3})}),
            "s32[], f32[3]");
  // A predicate has one element, of any rank and dtype.
  EXPECT_EQ(outputs(loop("return carry1", "return carry0, carry1"), {s32({}), f32({1, 1})}), "s32[], f32[1, 1]");
  EXPECT_EQ(
      outputs(loop("return carry1", "return carry0, carry1"), {s32({}), f32({3})}),
      "infer: instruction 0 (while) cond: the predicate is f32[3]; wanted one element (item can only be called on "
      "arrays of size 1)");
  EXPECT_EQ(
      outputs(loop("return carry1", "return carry0, carry1"), {s32({}), f32({0})}),
      "infer: instruction 0 (while) cond: the predicate is f32[0]; wanted one element (item can only be called on "
      "arrays of size 1)");
}

TEST(Infer, H4_LoopSlotsKeepTheirTypes) {
  EXPECT_EQ(outputs(loop("return carry0", "%0 = multiply carry0, const1\nreturn %0, carry1"), {s32({}), f32({3})}),
            "infer: instruction 0 (while) body: carry slot 0 becomes f32[]; wanted s32[], as it came in");
  EXPECT_EQ(
      outputs(loop("return carry0", "%0 = add carry1, carry0\nreturn carry0, %0"), {f32({2, 1}), f32({2})}),
      "infer: instruction 0 (while) cond: the predicate is f32[2, 1]; wanted one element (item can only be called "
      "on arrays of size 1)");
  EXPECT_EQ(outputs(loop("return carry0", "%0 = add carry1, carry0\nreturn carry0, %0"), {f32({1, 1}), f32({2})}),
            "infer: instruction 0 (while) body: carry slot 1 becomes f32[1, 2]; wanted f32[2], as it came in");
  EXPECT_EQ(outputs(loop("return carry0", "return carry1, carry0"), {s32({}), f32({})}),
            "infer: instruction 0 (while) body: carry slot 0 becomes f32[]; wanted s32[], as it came in");
}

TEST(Infer, ErrorsInLoopsNameTheirPlace) {
  EXPECT_EQ(outputs(loop("return carry0", "%0 = bitwise_and carry1, carry1\nreturn carry0, %0"), {s32({}), f32({})})
                .substr(0, 80),
            "infer: instruction 0 (while) body instruction 0 (bitwise_and): a has dtype float");
}

// A size that no memory has, or no 64-bit number counts, is refused with the size that it would have.
TEST(Infer, B57_SizesOverTheLimits) {
  const Shape column = {2147483647, 1};
  const Shape row = {1, 2147483647};
  EXPECT_EQ(outputs(kAdd, {f32(column), f32(row)}),
            "infer: instruction 0 (add): a result would be f32[2147483647, 2147483647], more bytes than 64 bits count");
  EXPECT_EQ(outputs(kAdd, {f32({2147483648}), f32({})}),
            "infer: input 0 is f32[2147483648]; a dimension may have 0 to 2147483647");
  EXPECT_EQ(outputs(kAdd, {f32({1000}), f32({1000, 1})}, 1'000'000),
            "infer: instruction 0 (add): a result would be f32[1000, 1000], 4000000 bytes; the limit is 1000000");
  EXPECT_EQ(outputs(kAdd, {f32({1000}), f32({1000, 1})}, 4'000'000), "f32[1000, 1000]");
  EXPECT_EQ(outputs("inputs 1\n%0 = bitcast in0 {dtype = uint8}\nreturn %0\n", {{DType::float32, {2147483647}}}),
            "infer: instruction 0 (bitcast): a result would be u8[8589934588]; a dimension may have 0 to 2147483647");
  EXPECT_EQ(outputs(kAdd, {f32(Shape(64, 1)), f32({})}), to_string(f32(Shape(64, 1))));
  EXPECT_EQ(outputs(kAdd, {f32(Shape(65, 1)), f32({})}), "infer: input 0 is of rank 65; at most 64 is supported");
  EXPECT_EQ(outputs(kAdd, {f32({2147483647, 0}), f32({2147483647, 2147483647, 0})}), "f32[2147483647, 2147483647, 0]");
}

}  // namespace
}  // namespace reprise
