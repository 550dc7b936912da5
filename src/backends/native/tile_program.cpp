#include "backends/native/tile_program.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/format.hpp"

namespace reprise::native {
namespace {

bool is_half(DType d) { return d == DType::float16 || d == DType::bfloat16; }

// --- What an op computes

struct Recipe {
  TileFn kernel = nullptr;       ///< null: only a conversion of the operand
  DType first = DType::float32;  ///< what operand 0 is converted to
  DType rest = DType::float32;   ///< and the others
  DType half = DType::float32;   ///< when they are float32 in place of a half precision: which
  DType made = DType::float32;   ///< what the kernel writes: the result's dtype, or float32 that is to be rounded to it
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the kernel computes in, were there kernels for half precision.
DType natural_dtype(const ops::OpDef& op, std::span<const TensorType> operands, const TensorType& result) {
  if (op.family == "logical") return DType::bool_;
  if (op.family == "compare") return promote(operands[0].dtype, operands[1].dtype);
  if (is_one_of(op.name, {"is_nan", "is_infinity", "logical_not", "abs", "real", "imag"})) return operands[0].dtype;
  return result.dtype;
}

std::optional<Recipe> recipe_of(const ops::OpDef& op, std::span<const TensorType> operands, const TensorType& result) {
  const DType to = result.dtype;
  if (op.name == "astype") return Recipe{nullptr, to, to, to, to};
  if (!has(op.traits, ops::Trait::elementwise)) return std::nullopt;
  const DType dtype = natural_dtype(op, operands, result);
  if (op.name == "select") {
    const TileFn kernel = tile_kernel(op.name, dtype);
    return Recipe{kernel, DType::bool_, dtype, dtype, dtype};
  }
  const DType computed = is_half(dtype) ? DType::float32 : dtype;
  const TileFn kernel = tile_kernel(op.name, computed);
  if (!kernel) return std::nullopt;
  return Recipe{kernel, computed, computed, dtype, to == dtype ? computed : to};
}

// How long an element takes, roughly, in units of an addition in the cache.
std::int64_t weight_of(const ops::OpDef& op, DType dtype) {
  if (op.name == "astype" || op.family == "compare" || op.family == "logical" || op.family == "select") return 1;
  constexpr std::int64_t kFunction = 8;
  constexpr std::int64_t kScalar = 100;
  const bool simple = op.tolerance.epsilons <= 2 && !is_one_of(op.name, {"remainder", "quotient"});
  if (dtype == DType::complex64) return simple ? kFunction : kScalar;
  if (simple) return 1;
  return dtype == DType::float64 ? kScalar : kFunction;
}

// Values of the group in the dtypes they are asked for, and the instructions that make them.
class Lowering : public TileProgram {
 public:
  explicit Lowering(const Group& group) : group_(group), inputs_(group.inputs.size()) {
    for (std::size_t i = 0; i < inputs_; ++i) {
      const DType dtype = group.inputs[i].type.dtype;
      known_[{static_cast<std::uint32_t>(i), dtype}] = new_reg(dtype);
    }
    for (std::size_t m = 0; m < group.members.size(); ++m) add(static_cast<std::uint32_t>(m));
  }

 private:
  Reg new_reg(DType dtype) {
    dtypes.push_back(dtype);
    output_of.push_back(-1);
    return static_cast<Reg>(dtypes.size() - 1);
  }

  Reg emit(TileFn kernel, std::initializer_list<Reg> in, DType made) {
    assert(kernel);
    TileInstruction one;
    one.kernel = kernel;
    one.operands = static_cast<std::uint8_t>(in.size());
    std::copy(in.begin(), in.end(), one.in.begin());
    one.out = new_reg(made);
    instructions.push_back(one);
    ++weight;
    return one.out;
  }

  Reg cast(Reg from, DType to) {
    const DType has = dtypes[from];
    if (has == to) return from;
    const bool same_bits = size_of(has) == size_of(to) && (is_integer(has) || has == DType::bool_) && is_integer(to);
    if (same_bits) return alias(from, to);
    const TileFn direct = cast_kernel(has, to);
    if (direct) return emit(direct, {from}, to);
    return emit(cast_kernel(DType::float32, to), {cast(from, DType::float32)}, to);
  }

  // The same bytes under another dtype.
  Reg alias(Reg from, DType to) {
    const Reg out = new_reg(to);
    aliases[out] = from;
    return out;
  }

  // Value v (an input, then members) as `dtype`.
  Reg as(std::uint32_t v, DType dtype) {
    if (const auto found = known_.find({v, dtype}); found != known_.end()) return found->second;
    const DType own = dtype_of(v);
    Reg out = 0;
    const auto unrounded = unrounded_.find(v);
    if (unrounded != unrounded_.end() && dtype == DType::float32 && !known_.contains({v, own})) {
      out = emit(round_kernel(own), {unrounded->second}, DType::float32);
    } else if (unrounded != unrounded_.end() && dtype == own) {
      const auto rounded = known_.find({v, DType::float32});
      out = cast(rounded != known_.end() ? rounded->second : unrounded->second, own);
    } else if (is_half(own) && dtype != DType::float32 && dtype != own) {
      out = cast(as(v, DType::float32), dtype);
    } else {
      out = cast(as(v, own), dtype);
    }
    known_[{v, dtype}] = out;
    return out;
  }

  // Value v as float32 that a half precision holds: an integer may have to be rounded to it.
  Reg as_half(std::uint32_t v, DType half) {
    if (dtype_of(v) == half) return as(v, DType::float32);
    const auto [found, added] = halves_.try_emplace({v, half}, 0);
    if (added) found->second = emit(round_kernel(half), {as(v, DType::float32)}, DType::float32);
    return found->second;
  }

  DType dtype_of(std::uint32_t v) const {
    return v < inputs_ ? group_.inputs[v].type.dtype : group_.members[v - inputs_].dtype;
  }

  void add(std::uint32_t m) {
    const GroupMember& member = group_.members[m];
    const auto v = static_cast<std::uint32_t>(inputs_) + m;
    std::vector<TensorType> operands;
    for (const std::uint32_t o : member.operands) {
      operands.push_back({dtype_of(o), {}});
    }
    const auto recipe = recipe_of(*member.op, operands, {member.dtype, {}});
    assert(recipe);
    if (!recipe->kernel) {
      known_[{v, member.dtype}] = as(member.operands[0], recipe->first);
    } else {
      std::array<Reg, 3> in{};
      for (std::size_t i = 0; i < member.operands.size(); ++i) {
        const DType dtype = i == 0 ? recipe->first : recipe->rest;
        in[i] = is_half(recipe->half) && dtype == DType::float32 ? as_half(member.operands[i], recipe->half)
                                                                 : as(member.operands[i], dtype);
      }
      Reg out = 0;
      switch (member.operands.size()) {
        case 1: out = emit(recipe->kernel, {in[0]}, recipe->made); break;
        case 2: out = emit(recipe->kernel, {in[0], in[1]}, recipe->made); break;
        default: out = emit(recipe->kernel, {in[0], in[1], in[2]}, recipe->made);
      }
      weight += weight_of(*member.op, recipe->rest) - 1;
      if (recipe->made == member.dtype) {
        known_[{v, member.dtype}] = out;
      } else {
        unrounded_[v] = out;
      }
    }
    if (member.result) store(v, m);
  }

  // The register that becomes the output: one that an instruction makes, and that no other output is.
  void store(std::uint32_t v, std::uint32_t m) {
    Reg reg = as(v, group_.members[m].dtype);
    const Reg origin = resolved(reg);
    // What is written over an input must be written last.
    const auto is_last = [&] { return instructions.back().out == origin; };
    if (origin < inputs_ || output_of[origin] >= 0 || (group_.members[m].over_input && !is_last())) {
      reg = emit(copy_kernel(size_of(group_.members[m].dtype)), {reg}, group_.members[m].dtype);
    } else {
      reg = origin;
    }
    output_of[reg] = static_cast<std::int32_t>(stored.size());
    stored.push_back(m);
  }

  const Group& group_;
  std::size_t inputs_;
  std::map<std::pair<std::uint32_t, DType>, Reg> known_;
  std::map<std::pair<std::uint32_t, DType>, Reg> halves_;  // values of other dtypes, as halves, in float32
  std::map<std::uint32_t, Reg> unrounded_;                 // members of half precision, in float32
};

}  // namespace

Reg TileProgram::resolved(Reg reg) const {
  for (auto it = aliases.find(reg); it != aliases.end(); it = aliases.find(reg)) reg = it->second;
  return reg;
}

TileProgram lower(const Group& group) { return Lowering(group); }

std::optional<std::string> why_not_elementwise(const ops::OpDef& op, const void*, std::span<const TensorType> operands,
                                               const TensorType& result) {
  if (recipe_of(op, operands, result)) return std::nullopt;
  if (!has(op.traits, ops::Trait::elementwise)) return "not element-wise";
  return fmt::format("no element-wise kernel for {}", name(natural_dtype(op, operands, result)));
}

}  // namespace reprise::native
