// Windows, gathers, scatters, fills and sorts: native plans give what MLX gives, bit by bit, however the operands lie
// and whatever the number of threads.
#include <gtest/gtest.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <cstring>
#include <limits>
#include <random>

#include "backends/native/isa.hpp"
#include "base/format.hpp"
#include "native/plan_run.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/builder.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

constexpr DType kAll[] = {DType::bool_,   DType::uint8,   DType::uint16,   DType::uint32,   DType::uint64,
                          DType::int8,    DType::int16,   DType::int32,    DType::int64,    DType::float16,
                          DType::float32, DType::float64, DType::bfloat16, DType::complex64};
constexpr DType kOneOfEachSize[] = {DType::uint8, DType::bfloat16, DType::int32, DType::complex64};
constexpr DType kIndexTypes[] = {DType::uint8, DType::uint16, DType::uint32, DType::uint64,
                                 DType::int8,  DType::int16,  DType::int32,  DType::int64};

// Small integers, which every dtype holds and which add up exactly; complex numbers have two of them.
mx::array numbers(const Shape& shape, DType dtype, int low = -9, int high = 9) {
  std::mt19937 random(static_cast<unsigned>(shape.size() * 7 + static_cast<std::size_t>(dtype)));
  const auto parts = is_complex(dtype) ? 2 * element_count(shape).value() : element_count(shape).value();
  std::vector<std::int32_t> values(static_cast<std::size_t>(parts));
  for (auto& v : values) v = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  const mx::array integers(values.begin(), {static_cast<int>(parts)}, mx::int32);
  const auto cpu = mx::Device::cpu;
  mx::array out = is_complex(dtype) ? mx::view(mx::astype(integers, mx::float32, cpu), mx::complex64, cpu)
                                    : mx::astype(integers, to_mlx(dtype), cpu);
  out = mx::reshape(out, to_mlx(shape), cpu);
  out.eval();
  return out;
}

// Indices within an axis of that size and a little beyond, from both ends.
mx::array indices(const Shape& shape, DType dtype, int size) {
  const bool is_signed = kind(dtype) == DTypeKind::signed_integer;
  const int least = is_signed ? -size - 3 : 0, greatest = size + 3;
  if (size_of(dtype) > 1) return numbers(shape, dtype, least, greatest);
  return numbers(shape, dtype, std::max(least, -128), std::min(greatest, is_signed ? 127 : 255));
}

std::vector<std::byte> bytes_of(const mx::array& x) {
  mx::array dense = mx::contiguous(x, false, mx::Device::cpu);
  dense.eval();
  const auto* from = reinterpret_cast<const std::byte*>(dense.data<char>());
  return {from, from + dense.nbytes()};
}

// Layouts that a program can give its operand 0 before the op gets it; each keeps the shape.
enum class Layout { dense, turned, reversed, strided, repeated };
constexpr Layout kLayouts[] = {Layout::dense, Layout::turned, Layout::reversed, Layout::strided, Layout::repeated};

// An input from which `lay` makes an operand of that shape.
mx::array input_for(Layout layout, const Shape& shape, DType dtype) {
  Shape stored = shape;
  if (layout == Layout::turned) std::reverse(stored.begin(), stored.end());
  if (layout == Layout::strided) stored.back() = 2 * stored.back() + 1;
  if (layout == Layout::repeated) stored.erase(stored.begin());
  return numbers(stored, dtype);
}

Value lay(Builder& b, Layout layout, Value x, const Shape& shape) {
  std::vector<std::int64_t> axes;
  for (std::size_t a = 0; a < shape.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
  switch (layout) {
    case Layout::dense: return x;
    case Layout::turned: return b.op("transpose", {x}, {{"axes", Shape(axes.rbegin(), axes.rend())}});
    case Layout::reversed: return b.op("reverse", {x}, {{"axes", axes}});
    case Layout::strided: {
      Shape stored = shape, lengths = shape;
      stored.back() = 2 * stored.back() + 1;
      lengths.back() *= 2;
      std::vector<std::int64_t> strides(shape.size(), 1), starts(shape.size(), 0);
      strides.back() = 2;
      starts.back() = 1;
      return b.op("slice", {x},
                  {{"dynamic_mask", 0},
                   {"input_shape", stored},
                   {"lengths", lengths},
                   {"strides", strides},
                   {"starts", starts}});
    }
    default:
      axes.pop_back();
      for (auto& a : axes) ++a;
      return b.op("broadcast", {x}, {{"shape", shape}, {"axes", axes}});
  }
}

class Movement : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit()); }

  // The op with operand 0, of `shape` and `dtype`, in each layout.
  static void check(const char* op, const Builder::Attrs& attrs, const Shape& shape, DType dtype,
                    const std::vector<mx::array>& others = {}) {
    for (const Layout layout : kLayouts) {
      Builder b;
      const Value x = b.input();
      Builder::Values operands{lay(b, layout, x, shape)};
      std::vector<mx::array> inputs{input_for(layout, shape, dtype)};
      for (const mx::array& other : others) {
        operands.push_back(b.input());
        inputs.push_back(other);
      }
      const std::string what =
          fmt::format("{} of {} in layout {}", op, to_string(TensorType{dtype, shape}), static_cast<int>(layout));
      compare(b.build({b.op(op, operands, attrs)}).value(), inputs, what);
    }
  }

  static void compare(const Program& program, const std::vector<mx::array>& inputs, const std::string& what) {
    const auto wanted = compile(program, {.backend = Backend::mlx}).value().run(inputs).value();
    std::vector<std::vector<std::byte>> before;
    for (const mx::array& in : inputs) before.push_back(bytes_of(in));
    const Replayer replayer = replayer_of(program, inputs);
    for (const auto& step : replayer.plan().steps) {
      EXPECT_FALSE(step->on_mlx()) << what << ": " << step->describe() << ", since " << step->why;
    }
    for (const int threads : {1, 2, 8}) {
      same(replayer.run(inputs, {}, threads).value(), wanted, fmt::format("{}, {} threads", what, threads));
    }
    const auto native = compile(program, {.backend = Backend::native}).value();
    same(native.run(inputs).value(), wanted, what);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(bytes_of(inputs[i]), before[i]) << what << ": input " << i;
  }

  static void same(const std::vector<mx::array>& got, const std::vector<mx::array>& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(to_string(type_of(got[i])), to_string(type_of(wanted[i]))) << what;
      ASSERT_EQ(bytes_of(got[i]), bytes_of(wanted[i])) << what;
    }
  }
};

Builder::Attrs slice_attrs(std::int64_t mask, Shape shape, Shape lengths, Shape strides, Shape starts) {
  return {{"dynamic_mask", mask},
          {"input_shape", std::move(shape)},
          {"lengths", std::move(lengths)},
          {"strides", std::move(strides)},
          {"starts", std::move(starts)}};
}

TEST_F(Movement, Slices) {
  const Shape shape = {7, 33, 9};
  for (const DType dtype : kAll) {
    check("slice", slice_attrs(0, shape, {3, 30, 5}, {1, 4, 2}, {2, 2, 3}), shape, dtype);
    check("slice", slice_attrs(0, shape, {3, 33, 9}, {1, 1, 1}, {-5, 0, 0}), shape, dtype);
  }
  for (const DType dtype : kOneOfEachSize) {
    for (const int start : {-3, 0, 2, 100}) {
      for (const DType of :
           {DType::int8, DType::int32, DType::int64, DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
        const mx::array at = mx::astype(mx::array(start), to_mlx(of), mx::Device::cpu);
        check("slice", slice_attrs(5, shape, {3, 30, 5}, {1, 4, 2}, {0, 2, 0}), shape, dtype, {at, at});
      }
    }
    for (const DType of : {DType::bool_, DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
      const mx::array at = mx::astype(mx::array(3), to_mlx(of), mx::Device::cpu);
      check("slice", slice_attrs(2, shape, {7, 8, 9}, {2, 1, 1}, {0, 0, 0}), shape, dtype, {at});
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float start : {nan, INFINITY, -INFINITY, 1e30F, 2.9F, -0.5F}) {
    check("slice", slice_attrs(2, shape, {7, 8, 9}, {1, 1, 1}, {0, 0, 0}), shape, DType::float32, {mx::array(start)});
  }
  const mx::array huge(std::uint64_t{1} << 63, mx::uint64);
  check("slice", slice_attrs(2, shape, {7, 8, 9}, {1, 1, 1}, {0, 0, 0}), shape, DType::float32, {huge});
}

TEST_F(Movement, PutSlices) {
  const Shape shape = {7, 33, 9};
  const auto attrs = [&](std::int64_t mask, Shape lengths, Shape starts) {
    return Builder::Attrs{
        {"dynamic_mask", mask}, {"input_shape", shape}, {"lengths", std::move(lengths)}, {"starts", std::move(starts)}};
  };
  for (const DType dtype : kAll) {
    check("put_slice", attrs(0, {3, 33, 9}, {2, 0, 0}), shape, dtype, {numbers({3, 33, 9}, dtype)});
    check("put_slice", attrs(0, {3, 4, 5}, {90, 2, -1}), shape, dtype, {numbers({3, 4, 5}, DType::float32)});
    check("put_slice", attrs(3, {1, 4, 9}, {0, 0, 0}), shape, dtype,
          {numbers({1, 4, 9}, DType::int16), mx::array(4), mx::array(31)});
    check("put_slice", attrs(0, shape, {0, 0, 0}), shape, dtype, {numbers(shape, DType::int8)});
  }
}

// A loop over a cache: what is written stays, and the cache that came in is reused where it may be.
TEST_F(Movement, DonatedCachesAreUpdatedInPlace) {
  Builder b;
  const Value cache = b.input(), row = b.input(), at = b.input();
  const Builder::Attrs attrs{{"dynamic_mask", 1}, {"input_shape", {16, 64}}, {"lengths", {1, 64}}, {"starts", {0, 0}}};
  const Executable executable =
      compile(b.build({b.op("put_slice", {cache, row, at}, attrs)}).value(), {.backend = Backend::native}).value();
  mx::array held = mx::zeros({16, 64}, mx::float32, mx::Device::cpu);
  held.eval();
  const void* first = held.data<float>();
  for (int i = 0; i < 16; ++i) {
    mx::array line = mx::full({1, 64}, static_cast<float>(i + 1), mx::Device::cpu);
    line.eval();
    std::vector<mx::array> inputs;
    inputs.push_back(std::move(held));
    inputs.push_back(line);
    inputs.push_back(mx::array(i));
    held = executable.run(std::move(inputs)).value().at(0);
  }
  EXPECT_EQ(held.data<float>(), first);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(held.data<float>()[i * 64 + 63], static_cast<float>(i + 1));
}

// Around the sides of the squares in which planes are turned: 64 bytes.
TEST_F(Movement, Transposes) {
  for (const DType dtype : kAll) {
    for (const Shape& axes : {Shape{2, 1, 0}, Shape{1, 2, 0}, Shape{0, 2, 1}, Shape{2, 0, 1}, Shape{1, 0, 2}}) {
      check("transpose", {{"axes", axes}}, {65, 3, 130}, dtype);
    }
    check("transpose", {{"axes", {1, 0}}}, {129, 64}, dtype);
  }
}

TEST_F(Movement, Pads) {
  const Shape shape = {5, 17, 3};
  for (const DType dtype : kAll) {
    const mx::array value = numbers({}, DType::float32, 3, 3);
    check("pad", {{"low", {1, 2, 3}}, {"high", {0, 1, 2}}, {"interior", {0, 0, 0}}}, shape, dtype, {value});
    check("pad", {{"low", {1, -2, 3}}, {"high", {-1, 1, -2}}, {"interior", {0, 2, 1}}}, shape, dtype, {value});
    check("pad", {{"low", {-2, 0, 0}}, {"high", {-1, 0, 0}}, {"interior", {0, 0, 0}}}, shape, dtype, {value});
    check("pad", {{"low", {-5, 0, 1}}, {"high", {3, 0, 0}}, {"interior", {0, 0, 0}}}, shape, dtype, {value});
  }
}

TEST_F(Movement, Joins) {
  for (const DType dtype : kAll) {
    for (const DType other : kAll) {
      check("concatenate", {{"axis", 1}}, {3, 5}, dtype, {numbers({3, 2}, other)});
      check("stack", {{"axis", 2}}, {3, 5}, dtype, {numbers({3, 5}, other)});
    }
  }
}

TEST_F(Movement, Takes) {
  for (const DType dtype : kAll) {
    check("take", {{"axis", 0}}, {9, 4, 5}, dtype, {indices({300}, DType::int32, 9)});
    check("take", {{"axis", 1}}, {3, 9, 5}, dtype, {indices({2, 3}, DType::int64, 9)});
    check("take", {{"axis", 2}}, {3, 4, 9}, dtype, {indices({}, DType::uint8, 9)});
    check("take_along_axis", {{"axis", 0}}, {9, 4, 5}, dtype, {indices({7, 4, 5}, DType::int32, 9)});
    check("take_along_axis", {{"axis", 1}}, {3, 9, 5}, dtype, {indices({1, 300, 5}, DType::int16, 9)});
    check("take_along_axis", {{"axis", 2}}, {3, 1, 9}, dtype, {indices({3, 4, 2}, DType::uint32, 9)});
  }
  for (const DType of : kIndexTypes) {
    check("take", {{"axis", 0}}, {100, 3}, DType::float32, {indices({1000}, of, 100)});
    check("take_along_axis", {{"axis", 0}}, {100, 3}, DType::float32, {indices({1000, 3}, of, 100)});
  }
  const std::int64_t ends[] = {INT64_MIN, INT64_MAX, -1, 0};
  check("take", {{"axis", 0}}, {100, 3}, DType::float32, {mx::array(ends, {4}, mx::int64)});
  const std::uint64_t great[] = {UINT64_MAX, std::uint64_t{1} << 63, 99};
  check("take", {{"axis", 0}}, {100, 3}, DType::float32, {mx::array(great, {3}, mx::uint64)});
  // Enough for several threads.
  check("take", {{"axis", 0}}, {500, 33}, DType::float32, {indices({2000}, DType::int32, 500)});
  check("take_along_axis", {{"axis", 1}}, {30, 500}, DType::int16, {indices({30, 700}, DType::int32, 500)});
  check("take_along_axis", {{"axis", 0}}, {70'000, 1}, DType::int32, {indices({70'000, 1}, DType::int32, 70'000)});
}

TEST_F(Movement, GathersAndScatters) {
  const Shape shape = {6, 7, 8};
  for (const DType dtype : kAll) {
    const auto both = [&](const Builder::Attrs& attrs, const mx::array& at, const Shape& updates, DType of) {
      check("indexed_put", attrs, shape, dtype, {at, numbers(updates, of)});
      check("indexed_add", attrs, shape, dtype, {at, numbers(updates, of)});
    };
    check("gather", {{"axes", {2, 0}}, {"slice_sizes", {1, 5, 1}}, {"shape", {300, 5}}}, shape, dtype,
          {indices({300, 2}, DType::int32, 8)});
    check("gather", {{"axes", {1}}, {"slice_sizes", {6, 1, 8}}, {"shape", {2, 3, 6, 8}}}, shape, dtype,
          {indices({2, 3, 1}, DType::int64, 7)});
    check("gather", {{"axes", {0, 1, 2}}, {"slice_sizes", {1, 1, 1}}, {"shape", {40}}}, shape, dtype,
          {indices({40, 3}, DType::uint8, 6)});
    both({{"axes", {0}}, {"updates_shape", {20, 1, 7, 8}}}, indices({20, 1}, DType::int32, 6), {20, 7, 8}, dtype);
    both({{"axes", {2, 0}}, {"updates_shape", {5, 40, 1, 5, 1}}}, indices({5, 40, 2}, DType::int16, 8), {200, 5},
         DType::float32);
    both({{"axes", {0, 1, 2}}, {"updates_shape", {300, 1, 1, 1}}}, indices({300, 3}, DType::int64, 8), {300}, dtype);
  }
  for (const DType of : kIndexTypes) {
    check("indexed_add", {{"axes", {0}}, {"updates_shape", {500, 1, 3}}}, {100, 3}, DType::int32,
          {indices({500, 1}, of, 100), numbers({500, 3}, DType::int32)});
  }
}

// Sums of numbers that do not add up exactly: MLX adds in the order of the places, and so does any number of threads.
TEST_F(Movement, SumsKeepTheirOrder) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(50'000);
  for (float& v : values) v = normal(random);
  const mx::array updates(values.begin(), {50'000});
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    check("indexed_add", {{"axes", {0}}, {"updates_shape", {50'000, 1}}}, {1000}, dtype,
          {indices({50'000, 1}, DType::int32, 1000), updates});
  }
}

// Real and imaginary parts are summed as columns of their own.
TEST_F(Movement, SumsOfComplexNumbers) {
  for (const Shape& axes : {Shape{0}, Shape{1}, Shape{2}, Shape{0, 1}, Shape{0, 2}, Shape{0, 1, 2}}) {
    check("sum", {{"axes", axes}, {"keep_axes", true}}, {9, 33, 17}, DType::complex64);
  }
}

TEST_F(Movement, Fills) {
  for (const DType dtype : kAll) {
    const auto fill = [&](const char* op, Builder::Attrs attrs) {
      attrs.insert(attrs.begin(), {"dtype", dtype});
      // Once as an output and once as an operand.
      Builder b;
      const Value made = b.op(op, {}, attrs);
      compare(b.build({made, b.op("transpose", {made}, {{"axes", {1, 0}}})}).value(), {},
              fmt::format("{} {}", op, name(dtype)));
    };
    fill("iota", {{"axis", -1}, {"shape", {33, 70}}});
    fill("iota", {{"axis", 0}, {"shape", {300, 3}}});
    fill("iota", {{"axis", 1}, {"shape", {3, 70'000}}});
    if (size_of(dtype) >= 4) fill("iota", {{"axis", -1}, {"shape", {520, 521}}});  // written by each replay
    fill("eye", {{"rows", 7}, {"columns", 5}});
    fill("eye", {{"rows", 3}, {"columns", 50}});
    fill("eye", {{"rows", 1}, {"columns", 1}});
  }
}

TEST_F(Movement, SortsAlongAnyAxis) {
  for (const DType dtype : kAll) {
    for (const int axis : {0, 1, 2}) {
      for (const bool ascending : {true, false}) {
        check("sort", {{"axis", axis}, {"ascending", ascending}}, {6, 17, 5}, dtype);
        check("argsort", {{"axis", axis}, {"ascending", ascending}}, {6, 17, 5}, dtype);
      }
    }
    check("sort", {{"axis", 0}}, {1, 3}, dtype);
    check("argsort", {{"axis", 0}}, {1, 3}, dtype);
  }
  // Long rows are split among threads.
  for (const DType dtype : kOneOfEachSize) {
    check("sort", {{"axis", -1}}, {2, 70'000}, dtype);
    check("argsort", {{"axis", 0}}, {70'000, 2}, dtype);
  }
}

}  // namespace
}  // namespace reprise::native
