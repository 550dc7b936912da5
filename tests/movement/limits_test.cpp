// Sizes and attributes out of range: a clean error before anything is allocated.

#include "movement/movement.hpp"
#include "ops/fill/fill.hpp"
#include "ops/shape/shape.hpp"
#include "program/infer.hpp"
#include "program/verify.hpp"

namespace reprise::movement {
namespace {

std::vector<Attr> integers(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }

// One instruction over inputs; the message of whichever stage refuses it, or "".
std::string refusal(const std::string& op, std::vector<Attr> attrs, const std::vector<TensorType>& inputs,
                    std::int64_t max_bytes = 0) {
  ProgramData data;
  data.num_inputs = static_cast<std::int32_t>(inputs.size());
  Instruction instruction{.op = op, .attrs = std::move(attrs)};
  for (std::size_t k = 0; k < inputs.size(); ++k) instruction.operands.push_back(input(static_cast<std::int64_t>(k)));
  data.instructions = {instruction};
  data.outputs = {result(0)};
  data.num_real_outputs = 1;
  const auto verified = verify(Program(std::move(data)));
  if (!verified) return verified.error().message();
  const auto typed = infer(std::make_shared<const VerifiedProgram>(*verified), inputs, max_bytes);
  return typed ? "" : typed.error().message();
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Limits, B57_ComputedDimensions) {
  const TensorType big{bool_, {1073741824}};
  EXPECT_TRUE(mentions(refusal("concatenate", integers({0}), {big, big, big}), "3221225472"));
  const std::string pad = refusal("pad", integers({1, 2147483647, 2147483647, 0}), {{bool_, {8}}, {bool_, {}}});
  EXPECT_TRUE(mentions(pad, "4294967302")) << pad;
  const std::string spread = refusal("pad", integers({1, 0, 0, 2147483647}), {{bool_, {2147483647}}, {bool_, {}}});
  EXPECT_TRUE(mentions(spread, "4611686014132420609")) << spread;
  EXPECT_TRUE(mentions(refusal("stack", integers({0}), {big, big}, 1 << 30), "2147483648"));
}

TEST(Limits, B59_LargeFills) {
  EXPECT_EQ(refusal("eye", {Name{"float32"}, std::int64_t{50000}, std::int64_t{50000}}, {}), "");
  const std::string eye = refusal("eye", {Name{"float32"}, std::int64_t{50000}, std::int64_t{50000}}, {}, 1 << 30);
  EXPECT_TRUE(mentions(eye, "10000000000")) << eye;
  std::vector<Attr> iota{Name{"int32"}, std::int64_t{2}, std::int64_t{-1}, std::int64_t{50000}, std::int64_t{50000}};
  EXPECT_EQ(refusal("iota", iota, {}), "");
  EXPECT_TRUE(mentions(refusal("iota", iota, {}, 1 << 30), "10000000000"));
}

TEST(Limits, S12_AttributesAreNotCutTo32Bits) {
  constexpr std::int64_t kWide = 4294967297;
  EXPECT_TRUE(mentions(refusal("iota", {Name{"int32"}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{kWide}}, {}),
                       "4294967297"));
  EXPECT_TRUE(mentions(refusal("reshape", integers({kWide}), {{float32, {1}}}), "4294967297"));
  EXPECT_TRUE(mentions(refusal("broadcast", integers({1, kWide, 0}), {{float32, {}}}), "4294967297"));
  EXPECT_TRUE(mentions(refusal("eye", {Name{"int32"}, kWide, std::int64_t{1}}, {}), "4294967297"));
  EXPECT_TRUE(mentions(refusal("slice", integers({1, 0, kWide, 1, 1, 0}), {{float32, {1}}}), "4294967297"));
  EXPECT_TRUE(mentions(refusal("argmax", integers({kWide, 0}), {{float32, {1}}}), "4294967297"));
  EXPECT_TRUE(mentions(refusal("sum", integers({0, kWide}), {{float32, {1}}}), "4294967297"));
}

TEST(Limits, B49_AxesFarOutside) {
  const TensorType x{float32, {2, 3, 4}};
  for (const std::int64_t axis : {-100, 100, -4, 3}) {
    const std::string text = std::to_string(axis);
    EXPECT_TRUE(mentions(refusal("take_along_axis", integers({axis}), {x, {int32, {2, 3, 4}}}), text));
    EXPECT_TRUE(mentions(refusal("take", integers({axis}), {x, {int32, {2}}}), text));
    EXPECT_TRUE(mentions(refusal("reverse", integers({axis}), {x}), text));
    EXPECT_TRUE(mentions(refusal("concatenate", integers({axis}), {x}), text));
    EXPECT_TRUE(mentions(refusal("sum", integers({0, axis}), {x}), text));
    EXPECT_TRUE(mentions(refusal("transpose", integers({axis, 0, 1}), {x}), text));
    EXPECT_TRUE(mentions(refusal("broadcast", integers({1, 3, 1, axis}), {{float32, {3}}}), text));
    EXPECT_TRUE(mentions(refusal("dot", integers({1, axis, 1, 0, 0, 0}), {x, {float32, {2}}}), text));
  }
}

TEST(Limits, FlattenedSearch) {
  EXPECT_TRUE(mentions(refusal("argmax", integers({-1, 0}), {{bool_, {65536, 65536}}}), "2147483647"));
}

}  // namespace
}  // namespace reprise::movement
