#include <gtest/gtest.h>

#include "io/text/print.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

TEST(TypedText, AnnotatesInputsAndResults) {
  const Program program = parse_program(
                              "reprise 1\ninputs 2\nconst0 = 10 : s32\nconst1 = 2.0 : f32\n"
                              "%0, %1 = while in0, in1 {\n"
                              "  cond {\n    %0 = less carry0, const0\n    return %0\n  }\n"
                              "  body {\n    %0 = multiply carry1, const1\n    return carry0, %0\n  }\n}\n"
                              "%2 = is_nan %1\nreturn %2\n")
                              .value();
  auto verified = std::make_shared<const VerifiedProgram>(verify(program).value());
  const TensorType types[] = {{DType::int32, {}}, {DType::float32, {2, 3}}};
  const auto typed = infer(verified, types);
  ASSERT_TRUE(typed) << typed.error().message();
  const std::string text = print_program(*typed);
  EXPECT_EQ(text,
            "reprise 1\ninputs 2 : s32[], f32[2, 3]\nconst0 = 10 : s32\nconst1 = 2.0 : f32\n"
            "%0, %1 = while in0, in1 {\n"
            "  cond {\n    %0 = less carry0, const0 : bool[]\n    return %0\n  }\n"
            "  body {\n    %0 = multiply carry1, const1 : f32[2, 3]\n    return carry0, %0\n  }\n} : s32[], f32[2, 3]\n"
            "%2 = is_nan %1 : bool[2, 3]\nreturn %2\n");
  const auto back = parse_program(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(*back == program);
}

}  // namespace
}  // namespace reprise
