// B39: the greatest element of each row of a view that leaves out the first columns, which was wrong in arrays of more
// than 2^31 elements.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "movement/movement.hpp"
#include "program/infer.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

constexpr std::int64_t kSkipped = 7;

Program greatest_of_rows(std::int64_t rows, std::int64_t columns) {
  Builder b;
  const auto window = b.op("slice", {b.input()},
                           {{"input_shape", ops::Ints{rows, columns}},
                            {"lengths", ops::Ints{rows, columns - kSkipped}},
                            {"strides", ops::Ints{1, 1}},
                            {"starts", ops::Ints{0, kSkipped}}});
  return b.build({b.op("reduce_max", {window}, {{"axes", ops::Ints{1}}})}).value();
}

// Row r holds r mod 251; the columns that the view leaves out hold more than any row.
mx::array rows_of(std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<std::size_t>(rows * columns);
  auto* values = new std::uint8_t[count];
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint8_t* row = values + r * columns;
    std::fill(row, row + kSkipped, std::uint8_t{255});
    std::fill(row + kSkipped, row + columns, static_cast<std::uint8_t>(r % 251));
  }
  const mx::Shape shape{static_cast<int>(rows), static_cast<int>(columns)};
  return mx::array(static_cast<void*>(values), shape, mx::uint8,
                   [](void* data) { delete[] static_cast<std::uint8_t*>(data); });
}

void check(std::int64_t rows, std::int64_t columns) {
  const Executable executable = compile(greatest_of_rows(rows, columns)).value();
  std::vector<mx::array> inputs{rows_of(rows, columns)};
  const mx::array seen = executable.run(std::move(inputs)).value().at(0);
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) ASSERT_EQ(seen.data<std::uint8_t>()[r], r % 251) << "row " << r;
}

// The stand-in: the same program on small arrays, and its shapes at full size.
TEST(LargeArrays, B39_ViewsOfRows) {
  check(1, kSkipped + 1);
  check(300, 64);
  const auto verified = verify(greatest_of_rows(32775, 65536)).value();
  const TensorType input[] = {{DType::uint8, {32775, 65536}}};
  const auto typed = infer(std::make_shared<const VerifiedProgram>(verified), input).value();
  EXPECT_EQ(to_string(typed.types().results[0]), "u8[32775, 65529]");
  EXPECT_EQ(to_string(typed.types().results[1]), "u8[32775]");
}

TEST(LargeArrays, B39_MoreThan31Bits) {
  if (!std::getenv("REPRISE_LARGE_TESTS")) GTEST_SKIP() << "REPRISE_LARGE_TESTS=1 runs it; it takes 5 GB";
  check(32775, 65536);
}

}  // namespace
}  // namespace reprise
