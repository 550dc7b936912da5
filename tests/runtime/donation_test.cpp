// What is updated in place, and what never may be.
#include "runtime/support.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;
using List = std::vector<double>;

constexpr std::string_view kPut =
    "inputs 2\n %0 = put_slice in0, in1 {input_shape = [4], lengths = [1], starts = [2]}\n return %0\n";

TEST(Donation, AnInputThatIsMovedInIsUpdatedInPlace) {
  const Executable exe = compiled(kPut);
  array x = filled({4}, 1);
  const void* before = address(x);
  for (int i = 0; i < 3; ++i) {
    Arrays inputs;
    inputs.push_back(std::move(x));
    inputs.push_back(floats({9}));
    Arrays out = run(exe, std::move(inputs));
    x = std::move(out[0]);
    EXPECT_EQ(address(x), before);
    EXPECT_EQ(values(x), (List{1, 1, 9, 1}));
  }
}

TEST(Donation, AnInputThatTheCallerHoldsIsUnchanged) {
  const Executable exe = compiled(kPut);
  const array x = filled({4}, 1);
  const array view = mx::reshape(x, {2, 2}, mx::Device::cpu);
  const Arrays out = run(exe, {x, floats({9})});
  EXPECT_NE(address(out[0]), address(x));
  EXPECT_EQ(values(x), List(4, 1));
  EXPECT_EQ(values(out[0]), (List{1, 1, 9, 1}));
}

TEST(Donation, AnInputWhoseViewTheCallerHoldsIsUnchanged) {
  const Executable exe = compiled(kPut);
  array x = filled({4}, 1);
  array view = mx::slice(x, {1}, {4}, mx::Device::cpu);
  view.eval();
  Arrays inputs;
  inputs.push_back(std::move(x));
  inputs.push_back(floats({9}));
  EXPECT_EQ(values(run(exe, std::move(inputs))[0]), (List{1, 1, 9, 1}));
  EXPECT_EQ(values(view), List(3, 1));
}

TEST(Donation, TheSameArrayTwice) {
  const Executable exe = compiled(
      "inputs 2\n const0 = 9.0 : f32\n %0 = broadcast const0 {shape = [1], axes = []}\n"
      " %1 = put_slice in0, %0 {input_shape = [4], lengths = [1], starts = [2]}\n return %1, in1\n");
  Arrays inputs(2, filled({4}, 1));
  const Arrays out = run(exe, std::move(inputs));
  EXPECT_EQ(values(out[0]), (List{1, 1, 9, 1}));
  EXPECT_EQ(values(out[1]), List(4, 1));
}

TEST(Donation, AnInputThatIsAlsoAnOutput) {
  const Executable exe = compiled(
      "inputs 2\n %0 = put_slice in0, in1 {input_shape = [4], lengths = [1], starts = [2]}\n return in0, %0\n");
  Arrays inputs;
  inputs.push_back(filled({4}, 1));
  inputs.push_back(floats({9}));
  const Arrays out = run(exe, std::move(inputs));
  EXPECT_EQ(values(out[0]), List(4, 1));
  EXPECT_EQ(values(out[1]), (List{1, 1, 9, 1}));
}

TEST(Donation, AnInputThatIsReadAfterTheUpdate) {
  const Executable exe = compiled(
      "inputs 2\n %0 = put_slice in0, in1 {input_shape = [4], lengths = [1], starts = [2]}\n"
      " %1 = add in0, %0\n return %1\n");
  Arrays inputs;
  inputs.push_back(filled({4}, 1));
  inputs.push_back(floats({9}));
  EXPECT_EQ(values(run(exe, std::move(inputs))[0]), (List{2, 2, 10, 2}));
}

TEST(Donation, CachesAreUpdatedInPlace) {
  const Executable exe = compiled(
      "inputs 7\n %0, %1, %2 = kv_cache_sdpa_update in0, in1, in2, in3, in4, in5, in6 {scale = 1.0, kv_offset = -1}\n"
      " return %0, %1, %2\n");
  array k = filled({1, 8, 1, 4}, 0);
  array v = filled({1, 8, 1, 4}, 0);
  const void* k_at = address(k);
  const void* v_at = address(v);
  const array row = filled({1, 1, 1, 4}, 1);
  for (int step = 0; step < 8; ++step) {
    Arrays inputs{row, row, filled({1, 1, 1, 4}, static_cast<float>(step))};
    inputs.push_back(std::move(k));
    inputs.push_back(std::move(v));
    inputs.push_back(integer(step));
    inputs.push_back(filled({1, 8}, 1));
    Arrays out = run(exe, std::move(inputs));
    EXPECT_FLOAT_EQ(static_cast<float>(values(out[0])[0]), static_cast<float>(step) / 2) << step;
    k = std::move(out[1]);
    v = std::move(out[2]);
    EXPECT_EQ(address(k), k_at) << step;
    EXPECT_EQ(address(v), v_at) << step;
  }
  EXPECT_EQ(values(k), List(32, 1));
}

TEST(Donation, ALoopUpdatesItsSlotInPlace) {
  const Executable exe = compiled(R"(inputs 2
    const0 = 1 : s32
    const1 = 4 : s32
    %0, %1, %2 = while in1, in0, in1 {
      cond {
        %0 = less carry0, const1
        return %0
      }
      body {
        %0 = astype carry0 {dtype = float32}
        %1 = reshape %0 {shape = [1]}
        %2 = put_slice carry1, %1, carry0 {dynamic_mask = 1, input_shape = [1000], lengths = [1], starts = [0]}
        %3 = add carry0, const0
        return %3, %2, carry2
      }
    }
    return %1
  )");
  Arrays inputs;
  inputs.push_back(filled({1000}, 7));
  const void* before = address(inputs[0]);
  inputs.push_back(integer(0));
  const Arrays out = run(exe, std::move(inputs));
  EXPECT_EQ(address(out[0]), before);
  EXPECT_EQ(values(out[0])[3], 3);
  EXPECT_EQ(values(out[0])[4], 7);
}

// The program hands out its capture, whole and as a view; another run gets it moved in.
TEST(Donation, CapturesAreNeverModified) {
  const auto cap = make_capture(filled({4}, 1)).value();
  const Executable exe = compiled(R"(inputs 1
    cap0 = "" : f32[4]
    %0 = reshape cap0 {shape = [2, 2]}
    %1 = put_slice cap0, in0 {input_shape = [4], lengths = [1], starts = [2]}
    return cap0, %0, %1
  )",
                                  {}, {cap});
  const Executable put = compiled(kPut);
  const Executable put2 = compiled(
      "inputs 2\n %0 = put_slice in0, in1 {input_shape = [2, 2], lengths = [1, 1], starts = [0, 0]}\n return %0\n");
  for (int i = 0; i < 3; ++i) {
    Arrays out = run(exe, {floats({5})});
    EXPECT_EQ(values(out[0]), List(4, 1));
    EXPECT_EQ(values(out[1]), List(4, 1));
    EXPECT_EQ(values(out[2]), (List{1, 1, 5, 1}));
    Arrays first, second;
    first.push_back(std::move(out[0]));
    first.push_back(floats({8}));
    second.push_back(std::move(out[1]));
    second.push_back(filled({1, 1}, 8));
    out.clear();
    EXPECT_EQ(values(run(put, std::move(first))[0]), (List{1, 1, 8, 1}));
    EXPECT_EQ(values(run(put2, std::move(second))[0]), (List{8, 1, 1, 1}));
  }
  EXPECT_EQ(values(*cap.value), List(4, 1));
}

// A constant that was computed when the program was recorded is as much the program's own.
TEST(Donation, FoldedConstantsAreNeverModified) {
  const Executable exe = compiled(
      "inputs 0\n const0 = 3.0 : f32\n %0 = broadcast const0 {shape = [4], axes = []}\n %1 = add %0, %0\n return %1\n");
  const Executable put = compiled(kPut);
  for (int i = 0; i < 3; ++i) {
    Arrays inputs = run(exe, {});
    EXPECT_EQ(values(inputs[0]), List(4, 6));
    inputs.push_back(floats({9}));
    EXPECT_EQ(values(run(put, std::move(inputs))[0]), (List{6, 6, 9, 6}));
  }
}

TEST(Donation, CapturesInsideALoop) {
  const auto cap = make_capture(filled({4}, 1)).value();
  const Executable exe = compiled(R"(inputs 1
    cap0 = "" : f32[4]
    const0 = 1 : s32
    %0, %1 = while in0, cap0 {
      cond {
        return carry0
      }
      body {
        %0 = subtract carry0, const0
        %1 = reshape carry0 {shape = [1]}
        %2 = put_slice carry1, %1 {input_shape = [4], lengths = [1], starts = [1]}
        %3 = add %2, cap0
        return %0, %3
      }
    }
    return %1
  )",
                                  {}, {cap});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(values(run(exe, {integer(2)})[0]), (List{3, 2, 3, 3}));
  EXPECT_EQ(values(*cap.value), List(4, 1));
}

}  // namespace
}  // namespace reprise
