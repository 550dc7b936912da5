// What cannot be had is refused: MLX itself would write through a null pointer.
#include "backends/mlx/tape.hpp"
#include "base/machine.hpp"
#include "runtime/support.hpp"

namespace reprise {
namespace {

// The result is half of the memory, the count that it is cast from four times the memory.
TEST(Memory, IntermediateResultsCount) {
  const std::int64_t rows = machine_memory() / 2 / 65536;
  const Executable exe = compiled(
      "inputs 0\n %0 = iota {dtype = uint8, axis = -1, shape = [" + std::to_string(rows) + ", 65536]}\n return %0\n",
      {.backend = Backend::mlx});  // which computes positions in 32 bits first
  const auto out = exe.run({});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::limit);
  EXPECT_NE(out.error().message().find("cannot be had"), std::string::npos) << out.error().message();
}

TEST(Memory, TheArenaCounts) {
  const std::int64_t rows = machine_memory() / 10 * 6 / 65536;
  const Executable exe = compiled("inputs 0\n %0 = iota {dtype = uint8, axis = -1, shape = [" + std::to_string(rows) +
                                      ", 65536]}\n %1 = sort %0 {axis = 0, ascending = true}\n"
                                      " %2 = sort %1 {axis = 1, ascending = false}\n"
                                      " %3 = sum %2 {axes = [0, 1], keep_axes = false}\n return %3\n",
                                  {.backend = Backend::native});
  const auto out = exe.run({});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::limit) << out.error().message();
}

// What a convolution unfolds is more than its operands and its result.
TEST(Memory, ConvolutionsUnfold) {
  const Executable exe = compiled(
      "inputs 2\n %0 = conv_general in0, in1 {strides = [1, 1], low = [0, 0], high = [0, 0], kernel_dilation = [1, 1], "
      "input_dilation = [1, 1], groups = 1}\n return %0\n",
      {.backend = Backend::mlx});
  const std::vector<TensorType> types{{DType::float32, {64, 600, 600, 64}}, {DType::float32, {1, 300, 300, 64}}};
  const Status made = exe.specialise(types);  // 133 TB
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::limit) << made.error().message();
}

TEST(Memory, IsAskedForInOneGo) {
  mlx_backend::require_memory(0);
  mlx_backend::require_memory(64 << 20);
  EXPECT_THROW(mlx_backend::require_memory(SIZE_MAX), mlx_backend::MemoryError);
}

// Views and what is let go on the way take nothing; what lives at one time adds up.
TEST(Memory, ATapeKnowsItsPeak) {
  namespace mx = mlx::core;
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  const mx::array x = mlx_backend::placeholder({1000}, mx::float32);
  const mx::array chain = mx::negative(mx::negative(mx::negative(x, s), s), s);
  EXPECT_EQ(mlx_backend::Tape::record({x}, {chain}).peak_bytes(), 8000u);
  const mx::array wide = mx::broadcast_to(x, {1000, 1000}, s);
  EXPECT_EQ(mlx_backend::Tape::record({x}, {wide}).peak_bytes(), 0u);
  const mx::array both = mx::add(mx::negative(x, s), mx::abs(x, s), s);
  EXPECT_EQ(mlx_backend::Tape::record({x}, {both}).peak_bytes(), 12000u);
}

}  // namespace
}  // namespace reprise
