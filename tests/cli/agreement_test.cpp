// What `reprise bench --check` counts as the same answer.
#include "../../cli/agreement.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <limits>

#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

using mlx::core::array;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string message_of(const Result<Agreement>& result) { return result ? "good" : result.error().message(); }

Result<Agreement> one(const array& seen, const array& wanted, double tolerance) {
  return compare({seen}, {wanted}, {tolerance});
}

TEST(Agreement, IsRelativeToTheGreatestElement) {
  const auto seen = one(array({100.0F, 0.5F}), array({100.0F, 0.0F}), 0.01);
  ASSERT_TRUE(seen.ok()) << message_of(seen);
  EXPECT_DOUBLE_EQ(seen->error, 0.005);
  EXPECT_NE(message_of(one(array({100.0F, 2.0F}), array({100.0F, 0.0F}), 0.01)).find("element 1 is 2 and mlx has 0"),
            std::string::npos);
}

TEST(Agreement, HoldsNanAndInfinityOnlyAgainstThemselves) {
  EXPECT_TRUE(one(array({kNan, kInf, -kInf, 1.0F}), array({kNan, kInf, -kInf, 1.0001F}), 1e-3).ok());
  EXPECT_FALSE(one(array({kNan, 1.0F}), array({1.0F, 1.0F}), 1e30).ok());
  EXPECT_FALSE(one(array({1.0F, 1.0F}), array({kNan, 1.0F}), 1e30).ok());
  EXPECT_FALSE(one(array({kInf, 1.0F}), array({-kInf, 1.0F}), 1e30).ok());
  EXPECT_FALSE(one(array({kInf, 1.0F}), array({3e38F, 1.0F}), 1e30).ok());
  EXPECT_FALSE(one(array({1e-30F}), array({0.0F}), 1e30).ok());  // all of what is wanted is 0
}

TEST(Agreement, HasNoToleranceForIntegers) {
  EXPECT_TRUE(one(array({1, 2}), array({1, 2}), 0).ok());
  EXPECT_NE(message_of(one(array({1, 2}), array({1, 3}), 1)).find("output 0 (s32[2]) differs"), std::string::npos);
}

TEST(Agreement, ComparesPartsOfComplexNumbers) {
  using mlx::core::complex64_t;
  const array wanted({complex64_t(1, 0), complex64_t(0, 2)});
  EXPECT_TRUE(one(array({complex64_t(1, 0), complex64_t(0, 2.001F)}), wanted, 1e-3).ok());
  EXPECT_NE(message_of(one(array({complex64_t(1, 0), complex64_t(1, 2)}), wanted, 1e-3)).find("element 1"),
            std::string::npos);
}

TEST(Agreement, RefusesOtherTypes) {
  EXPECT_EQ(message_of(one(array({1.0F}), array({1.0F, 2.0F}), 1)), "output 0 is f32[1]; mlx gives f32[2]");
}

TEST(Agreement, AllowsWhatTheRowsAllowTogether) {
  const auto sums = [](const char* text) {
    const auto program = parse_program(text);
    auto verified = verify(*program);
    const std::vector<TensorType> types{{DType::float32, {4}}};
    const auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), types);
    return std::pair(tolerances(*typed, std::nullopt), tolerances(*typed, 0.5));
  };
  const auto [once, stated] = sums("reprise 1\ninputs 1\n%0 = tanh in0\n%1 = argmax %0 {axis = 0}\nreturn %0, %1");
  const auto [twice, again] = sums("reprise 1\ninputs 1\n%0 = tanh in0\n%1 = tanh %0\n%2 = tanh %1\nreturn %2");
  EXPECT_GT(once[0], 0);
  EXPECT_EQ(once[1], 0);
  EXPECT_GT(twice[0], once[0]);
  EXPECT_EQ(stated, (std::vector<double>{0.5, 0}));
}

TEST(Checksum, TellsTypesAndElementsApart) {
  const auto sum = [](const array& a) { return *checksum({a}); };
  EXPECT_EQ(sum(array({1.0F, 2.0F})), sum(array({1.0F, 2.0F})));
  EXPECT_NE(sum(array({1.0F, 2.0F})), sum(array({2.0F, 1.0F})));
  EXPECT_NE(sum(array({1, 2})), sum(array({1.0F, 2.0F})));
  EXPECT_NE(sum(array({0.0F, 0.0F})), sum(array({0.0F, 0.0F}, {2, 1})));
}

}  // namespace
}  // namespace reprise::cli
