// Groups of element-wise instructions: every op and dtype against MLX, and the same bits however they are laid out,
// grouped and split among threads.
#include "backends/native/elementwise.hpp"

#include <gtest/gtest.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/native/isa.hpp"
#include "base/format.hpp"
#include "ops/cast/cast.hpp"
#include "ops/registry.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;
using Bytes = std::vector<std::byte>;

constexpr DType kAll[] = {DType::bool_,   DType::uint8,   DType::uint16,   DType::uint32,   DType::uint64,
                          DType::int8,    DType::int16,   DType::int32,    DType::int64,    DType::float16,
                          DType::float32, DType::float64, DType::bfloat16, DType::complex64};

template <typename T>
void put(Bytes& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

// Elements that reach the corners of the dtype; floats moderate ones too.
Bytes elements(DType dtype, std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes out(n * size_of(dtype));
  std::normal_distribution<float> normal(0, 2);
  const float special[] = {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, 2.5F, -3.0F, 100.0F, INFINITY, -INFINITY, NAN};
  const auto number = [&] { return random() % 6 == 0 ? special[random() % std::size(special)] : normal(random); };
  for (std::size_t i = 0; i < n; ++i) {
    switch (dtype) {
      case DType::bool_: put(out, i, static_cast<std::uint8_t>(random() % 2)); break;
      case DType::float16: put(out, i, mx::float16_t(number())); break;
      case DType::bfloat16: put(out, i, mx::bfloat16_t(number())); break;
      case DType::float32: put(out, i, number()); break;
      case DType::float64: put(out, i, static_cast<double>(number())); break;
      case DType::complex64: put(out, 2 * i, normal(random)), put(out, 2 * i + 1, normal(random)); break;
      default: {
        std::int64_t value = static_cast<std::int64_t>(random() % 9) - 4;
        if (random() % 3 == 0) value = static_cast<std::int64_t>(random());
        if (random() % 8 == 0) value = std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(dtype));
        std::memcpy(out.data() + i * size_of(dtype), &value, size_of(dtype));
      }
    }
  }
  return out;
}

// One group and the memory of its inputs; what run() gives is the results' bytes.
struct Case {
  Group group;
  std::vector<Bytes> memory;  // of each input's slot

  std::uint32_t input(DType dtype, Shape shape, std::vector<std::int64_t> strides, std::int64_t offset,
                      std::size_t elements_there, unsigned seed) {
    const auto slot = static_cast<SlotId>(memory.size());
    memory.push_back(elements(dtype, elements_there, seed));
    group.inputs.push_back({slot, {dtype, std::move(shape)}, std::move(strides), offset});
    return static_cast<std::uint32_t>(group.inputs.size() - 1);
  }
};

// All NaN become one: which operand's bits they get is up to the compiler.
template <typename T>
void unify_nan(Bytes& bytes) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if (std::isnan(static_cast<double>(value))) put(bytes, i, static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  }
}
void unify_nan(Bytes& bytes, DType dtype) {
  if (dtype == DType::float16) unify_nan<mx::float16_t>(bytes);
  if (dtype == DType::bfloat16) unify_nan<mx::bfloat16_t>(bytes);
  if (dtype == DType::float32) unify_nan<float>(bytes);
  if (dtype == DType::float64) unify_nan<double>(bytes);
}

std::vector<Bytes> run(const Case& one, int threads) {
  Group group = one.group;
  std::vector<std::byte*> addresses;
  std::vector<Bytes> memory = one.memory;
  for (Bytes& bytes : memory) addresses.push_back(bytes.data());
  std::int64_t size = 1;
  for (const auto dim : group.shape) size *= dim;
  std::vector<Bytes> results;
  results.reserve(group.members.size());
  for (GroupMember& member : group.members) {
    if (!member.result) continue;
    *member.result = dense_view(static_cast<SlotId>(addresses.size()), {member.dtype, group.shape});
    results.emplace_back(static_cast<std::size_t>(size) * size_of(member.dtype), std::byte{0x55});
    addresses.push_back(results.back().data());
  }
  std::vector<std::optional<mx::array>> arrays(addresses.size());
  const RunOptions options;
  const auto step = make_elementwise_step(std::move(group));
  EXPECT_TRUE(step->run(Frame(addresses, arrays, options, threads)).ok());
  for (std::size_t k = 0, m = 0; m < one.group.members.size(); ++m) {
    if (one.group.members[m].result) unify_nan(results[k++], one.group.members[m].dtype);
  }
  return results;
}

// Each element in a group of its own.
std::vector<Bytes> run_singly(const Case& one) {
  std::vector<Bytes> results;
  std::vector<std::int64_t> index(one.group.shape.size(), 0);
  std::int64_t size = 1;
  for (const auto dim : one.group.shape) size *= dim;
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t rest = i;
    for (std::size_t a = index.size(); a-- > 0;) {
      index[a] = rest % one.group.shape[a];
      rest /= one.group.shape[a];
    }
    Case single = one;
    single.group.shape = {};
    for (View& in : single.group.inputs) {
      for (std::size_t a = 0; a < index.size(); ++a) in.offset += index[a] * in.strides[a];
      in.strides = {};
      in.type.shape = {};
    }
    const auto parts = run(single, 1);
    results.resize(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      results[k].insert(results[k].end(), parts[k].begin(), parts[k].end());
    }
  }
  return results;
}

// "" or the first result and byte that differ.
std::string difference(const std::vector<Bytes>& got, const std::vector<Bytes>& want) {
  if (got.size() != want.size()) return "number of results";
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k].size() != want[k].size()) return fmt::format("size of result {}", k);
    for (std::size_t i = 0; i < got[k].size(); ++i) {
      if (got[k][i] != want[k][i]) {
        return fmt::format("result {} byte {}: {:02x}, not {:02x}", k, i, static_cast<unsigned>(got[k][i]),
                           static_cast<unsigned>(want[k][i]));
      }
    }
  }
  return "";
}

void add(Group& group, const char* op, std::vector<std::uint32_t> operands, DType dtype, bool stored,
         const void* attrs = nullptr) {
  GroupMember member{ops::find_def(op), attrs, std::move(operands), dtype, {}};
  if (stored) member.result = View{};
  group.members.push_back(std::move(member));
}

// tanh(a * b + b) of which the sum is stored too, and whether the result is below c.
void add_chain(Group& group, std::uint32_t a, std::uint32_t b, std::uint32_t c, DType dtype) {
  const auto first = static_cast<std::uint32_t>(group.inputs.size());
  add(group, "multiply", {a, b}, dtype, false);
  add(group, "add", {first, b}, dtype, true);
  add(group, "tanh", {first + 1}, dtype, false);
  add(group, "less", {first + 2, c}, DType::bool_, true);
  add(group, "select", {first + 3, first + 2, a}, dtype, true);
}

class Elementwise : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit().ok()); }
};

struct Layout {
  const char* name;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset;
};

TEST_F(Elementwise, EveryLayoutGivesWhatSingleElementsGive) {
  const std::vector<std::vector<Layout>> sets = {
      {{"row", {37, 5}, {0, 1}, 0},
       {"column", {37, 5}, {1, 0}, 0},
       {"transposed", {37, 5}, {1, 37}, 0},
       {"reversed", {37, 5}, {-5, -1}, 184},
       {"strided", {37, 5}, {20, 3}, 7},
       {"dense", {37, 5}, {5, 1}, 0},
       {"scalar", {37, 5}, {0, 0}, 3}},
      {{"long row", {3, 700}, {0, 1}, 5},
       {"long column", {3, 700}, {2, 0}, 1},
       {"long transposed", {3, 700}, {1, 3}, 0},
       {"long rows of a wider one", {3, 700}, {900, 1}, 100},
       {"long dense", {3, 700}, {700, 1}, 0}},
      {{"middle", {4, 6, 7}, {0, 1, 0}, 0},
       {"outer and inner", {4, 6, 7}, {7, 0, 1}, 0},
       {"plane", {4, 6, 7}, {0, 7, 1}, 0},
       {"permuted", {4, 6, 7}, {1, 28, 4}, 0},
       {"whole", {4, 6, 7}, {42, 7, 1}, 0}},
      {{"one", {1}, {0}, 0}, {"one of many", {1}, {5}, 4}},
      {{"no axis", {}, {}, 0}, {"no axis, offset", {}, {}, 9}},
      {{"vector", {900}, {1}, 0}, {"every third", {900}, {3}, 1}, {"backwards", {900}, {-1}, 899}},
  };
  for (const auto& layouts : sets) {
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::float64}) {
        Case one;
        one.group.shape = layouts[i].shape;
        std::vector<std::uint32_t> in;
        for (std::size_t k = 0; k < 3; ++k) {
          const Layout& l = layouts[(i + k) % layouts.size()];
          in.push_back(one.input(dtype, l.shape, l.strides, l.offset, 3000, static_cast<unsigned>(k)));
        }
        add_chain(one.group, in[0], in[1], in[2], dtype);
        const auto singly = run_singly(one);
        for (const int threads : {1, 2, 8}) {
          EXPECT_EQ(difference(run(one, threads), singly), "")
              << layouts[i].name << " " << name(dtype) << " " << threads;
        }
      }
    }
  }
}

TEST_F(Elementwise, SizesAroundVectorsAndTiles) {
  for (const DType dtype : {DType::float32, DType::int8, DType::float16}) {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 513, 2049}) {
      Case one;
      one.group.shape = {n};
      const auto a = one.input(dtype, {n}, {1}, 0, static_cast<std::size_t>(n), 1);
      const auto b = one.input(dtype, {n}, {1}, 0, static_cast<std::size_t>(n), 2);
      const auto c = one.input(DType::float32, {n}, {0}, 0, 1, 3);
      const auto first = static_cast<std::uint32_t>(one.group.inputs.size());
      add(one.group, "multiply", {a, b}, dtype, false);
      add(one.group, "add", {first, c}, promote(dtype, DType::float32), true);
      add(one.group, "max", {first, a}, dtype, true);
      EXPECT_EQ(difference(run(one, 2), run_singly(one)), "") << name(dtype) << " " << n;
    }
  }
}

TEST_F(Elementwise, ThreadsDoNotChangeBits) {
  Case one;
  constexpr std::int64_t kSize = 300001;
  one.group.shape = {kSize};
  for (unsigned k = 0; k < 3; ++k) one.input(DType::float32, {kSize}, {1}, 0, kSize, k);
  add_chain(one.group, 0, 1, 2, DType::float32);
  const auto alone = run(one, 1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(difference(run(one, threads), alone), "") << threads;
}

TEST_F(Elementwise, ManyLiveRegistersFitEverywhere) {
  // Sums of all pairs, each of which stays alive until the end.
  for (const std::int64_t n : {1, 100, 5000}) {
    Case one;
    one.group.shape = {n};
    constexpr std::uint32_t kInputs = 40;
    for (unsigned k = 0; k < kInputs; ++k) {
      const bool scalar = k % 2 == 0;
      one.input(k % 3 == 0 ? DType::int64 : DType::float64, {n}, {scalar ? 0 : 1}, 0, 5000, k);
    }
    for (std::uint32_t k = 0; k < 300; ++k) {
      add(one.group, "add", {k % kInputs, (k * 7 + 1) % kInputs}, DType::float64, false);
      if (one.group.inputs[k % kInputs].type.dtype == DType::int64 &&
          one.group.inputs[(k * 7 + 1) % kInputs].type.dtype == DType::int64) {
        one.group.members.back().dtype = DType::int64;
      }
    }
    std::uint32_t sum = kInputs;
    for (std::uint32_t k = 1; k < 300; ++k) {
      add(one.group, "add", {sum, kInputs + k}, DType::float64, k == 299);
      if (one.group.members[sum - kInputs].dtype == DType::int64 && one.group.members[k].dtype == DType::int64) {
        one.group.members.back().dtype = DType::int64;
      }
      sum = kInputs + 300 + k - 1;
    }
    if (n == 5000) {
      EXPECT_EQ(difference(run(one, 1), run(one, 8)), "");
    } else {
      EXPECT_EQ(difference(run(one, 1), run_singly(one)), "") << n;
    }
  }
}

TEST_F(Elementwise, ResultsThatAreInputsOrEachOtherAreCopied) {
  Case one;
  one.group.shape = {100};
  const auto a = one.input(DType::int32, {100}, {1}, 0, 100, 1);
  const auto b = one.input(DType::int32, {100}, {0}, 0, 1, 1);
  const ops::DTypeAttrs same{DType::int32}, other{DType::uint32};
  add(one.group, "astype", {a}, DType::int32, true, &same);
  add(one.group, "astype", {a}, DType::uint32, true, &other);
  add(one.group, "real", {b}, DType::int32, true);
  add(one.group, "add", {a, b}, DType::int32, true);
  add(one.group, "astype", {5}, DType::uint32, true, &other);
  EXPECT_EQ(difference(run(one, 1), run_singly(one)), "");
}

// --- Through the whole library

mx::array array_of(const Bytes& bytes, DType dtype, int n) {
  mx::array out(mx::allocator::malloc(bytes.size()), {n}, to_mlx(dtype));
  std::memcpy(out.data<char>(), bytes.data(), bytes.size());
  return out;
}

Bytes bytes_of(const mx::array& x) {
  const auto* from = reinterpret_cast<const std::byte*>(x.data<char>());
  return {from, from + x.nbytes()};
}

Bytes run_on(Backend backend, const char* op, const Builder::Attrs& attrs, const std::vector<mx::array>& inputs) {
  Builder b;
  Builder::Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(b.input());
  const Program program = b.build(b.ops(op, values, attrs)).value();
  return bytes_of(compile(program, {.backend = backend}).value().run(inputs).value().at(0));
}

double number_at(const Bytes& bytes, DType dtype, std::size_t i) {
  const auto at = [&]<typename T>(T value) {
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  if (dtype == DType::float64) return at(double{});
  if (dtype == DType::float16) return static_cast<float>(at(mx::float16_t{}));
  if (dtype == DType::bfloat16) return static_cast<float>(at(mx::bfloat16_t{}));
  return at(float{});
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return 0x1p-52;
    case DType::float16: return 0x1p-10;
    case DType::bfloat16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

void expect_near(const Bytes& got, const Bytes& want, DType dtype, const ops::OpDef& op, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  if (!is_floating(dtype) && !is_complex(dtype)) {
    EXPECT_EQ(difference({got}, {want}), "") << what;
    return;
  }
  const bool complex = is_complex(dtype);
  const std::size_t count = got.size() / (complex ? 4 : size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const double g = number_at(got, dtype, i), w = number_at(want, dtype, i);
    if ((std::isnan(g) && std::isnan(w)) || g == w) continue;
    const double size =
        complex ? std::hypot(number_at(want, dtype, i / 2 * 2), number_at(want, dtype, i / 2 * 2 + 1)) : std::abs(w);
    // Twice, since both may be off; MLX's complex functions by more than that.
    const double epsilons = 2 * op.tolerance.epsilons + (complex ? 64 : 0);
    const double allowed = epsilons * epsilon_of(dtype) * size + 2 * op.tolerance.absolute +
                           (dtype == DType::float16 ? 0x1p-24 : 0) + (complex ? 1e-6 : 0);
    ASSERT_LE(std::abs(g - w), allowed) << what << " at " << i << ": " << g << ", MLX " << w;
  }
}

TEST_F(Elementwise, EveryOpAndDTypeAgreesWithMlx) {
  constexpr int kCount = 997;
  for (const ops::OpDef* op : ops::all_defs()) {
    if (!ops::has(op->traits, ops::Trait::elementwise)) continue;
    const std::size_t operands = op->operands.size();
    for (const DType first : kAll) {
      for (const DType second : kAll) {
        if (operands == 1 && second != first) continue;
        std::vector<TensorType> types;
        std::vector<mx::array> inputs;
        for (std::size_t i = 0; i < operands; ++i) {
          const DType dtype = i == 0 ? first : second;
          types.push_back({dtype, {kCount}});
          inputs.push_back(array_of(elements(dtype, kCount, static_cast<unsigned>(i) + 7), dtype, kCount));
        }
        bool refused = false;
        for (std::size_t i = 0; i < operands; ++i) {
          refused = refused || (op->dtypes_of(op->operand(i)) & ops::set_of(types[i].dtype)) == 0;
        }
        if (refused) continue;
        const auto results = op->infer({*op, types}, nullptr);
        if (!results) continue;
        const std::string what = fmt::format("{} of {} and {}", op->name, name(first), name(second));
        // Complex powers are MLX's: their infinities are a convention, which both backends share this way.
        const bool on_mlx = op->name == "pow" && is_complex((*results)[0].dtype);
        EXPECT_EQ(why_not_elementwise(*op, nullptr, types, (*results)[0]).has_value(), on_mlx) << what;
        const std::string op_name(op->name);
        expect_near(run_on(Backend::native, op_name.c_str(), {}, inputs),
                    run_on(Backend::mlx, op_name.c_str(), {}, inputs), (*results)[0].dtype, *op, what);
      }
    }
  }
}

TEST_F(Elementwise, EveryCastAgreesWithMlx) {
  constexpr int kCount = 997;
  for (const DType from : kAll) {
    const mx::array x = array_of(elements(from, kCount, 3), from, kCount);
    for (const DType to : kAll) {
      expect_near(run_on(Backend::native, "astype", {{"dtype", to}}, {x}),
                  run_on(Backend::mlx, "astype", {{"dtype", to}}, {x}), to, *ops::find_def("astype"),
                  fmt::format("{} to {}", name(from), name(to)));
    }
  }
}

TEST_F(Elementwise, GroupingDoesNotChangeBits) {
  constexpr int kCount = 1500;
  const std::vector<std::pair<const char*, int>> steps = {
      {"multiply", 2}, {"add", 2},  {"tanh", 1}, {"exp", 1},         {"subtract", 2}, {"sigmoid", 1}, {"divide", 2},
      {"abs", 1},      {"sqrt", 1}, {"max", 2},  {"fast_swiglu", 2}, {"negate", 1},   {"erf", 1},     {"remainder", 2}};
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const mx::array x = array_of(elements(dtype, kCount, 1), dtype, kCount);
    const mx::array y = array_of(elements(dtype, kCount, 2), dtype, kCount);
    Builder b;
    const auto in_x = b.input(), in_y = b.input();
    auto value = in_x;
    mx::array alone = x;
    for (const auto& [op, operands] : steps) {
      const std::vector<mx::array> inputs = operands == 2 ? std::vector{alone, y} : std::vector{alone};
      alone = array_of(run_on(Backend::native, op, {}, inputs), dtype, kCount);
      value = operands == 2 ? b.op(op, {value, in_y}) : b.op(op, {value});
    }
    const Program program = b.build({value}).value();
    const auto together = compile(program, {.backend = Backend::native}).value().run({x, y}).value().at(0);
    EXPECT_EQ(difference({bytes_of(together)}, {bytes_of(alone)}), "") << name(dtype);
  }
}

}  // namespace
}  // namespace reprise::native
