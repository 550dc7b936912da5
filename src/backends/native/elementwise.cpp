// A group becomes a list of instructions for an interpreter of tiles: each is one kernel over a run of elements that
// stays in the first-level cache. Operands are converted where the row's promotion says so; half precision is computed
// in float32 and rounded after each op, so that a result does not depend on what else is in the group.
#include "backends/native/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <numeric>
#include <utility>

#include "backends/native/kernels/tile.hpp"
#include "backends/native/threads.hpp"
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

// --- The tile program

using Reg = std::uint32_t;  // a virtual register: a value in one dtype

struct Instruction {
  TileFn kernel = nullptr;
  std::array<Reg, 3> in{};
  Reg out = 0;
  std::uint8_t operands = 0;
};

// How an input reaches a tile.
enum class Access : std::uint8_t {
  whole,     // its elements lie as the result's: read in place
  scalar,    // one element for all: repeated once a run
  periodic,  // a tile holds whole periods: filled once a run
  row,       // a tile lies in a row, whose elements are neighbours: read in place
  column,    // a tile lies in a row, whose elements are all the same: repeated for each row
  gathered,  // collected for each tile
};

struct Input {
  View view;
  std::size_t bytes = 0;  // of an element
  Access access = Access::whole;
  std::uint32_t base = 0;             // which pointer
  std::vector<std::int64_t> strides;  // along the joined axes, in elements
  TileFn splat = nullptr;
};

struct Output {
  View view;
  std::size_t bytes = 0;
  std::uint32_t pointer = 0;
};

// Values of the group in the dtypes they are asked for, and the instructions that make them.
class Lowering {
 public:
  explicit Lowering(const Group& group) : group_(group), inputs_(group.inputs.size()) {
    for (std::size_t i = 0; i < inputs_; ++i) {
      const DType dtype = group.inputs[i].type.dtype;
      known_[{static_cast<std::uint32_t>(i), dtype}] = new_reg(dtype, true);
    }
    for (std::size_t m = 0; m < group.members.size(); ++m) add(static_cast<std::uint32_t>(m));
  }

  std::vector<Instruction> instructions;
  std::vector<DType> dtypes;            // by register; inputs come first
  std::vector<std::int32_t> output_of;  // by register: the output that it is, or -1
  std::vector<std::uint32_t> stored;    // by output: the member
  std::int64_t weight = 0;              // of an element

 private:
  Reg new_reg(DType dtype, bool) {
    dtypes.push_back(dtype);
    output_of.push_back(-1);
    return static_cast<Reg>(dtypes.size() - 1);
  }

  Reg emit(TileFn kernel, std::initializer_list<Reg> in, DType made) {
    assert(kernel);
    Instruction one;
    one.kernel = kernel;
    one.operands = static_cast<std::uint8_t>(in.size());
    std::copy(in.begin(), in.end(), one.in.begin());
    one.out = new_reg(made, false);
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
    const Reg out = new_reg(to, false);
    aliases_[out] = from;
    return out;
  }

 public:
  Reg resolved(Reg reg) const {
    for (auto it = aliases_.find(reg); it != aliases_.end(); it = aliases_.find(reg)) reg = it->second;
    return reg;
  }

 private:
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
    const bool too_early = group_.members[m].over_input && instructions.back().out != origin;
    if (origin < inputs_ || output_of[origin] >= 0 || too_early) {
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
  std::map<Reg, Reg> aliases_;
};

// --- The step

constexpr std::int64_t kMaxTile = 2048;
constexpr std::int64_t kMinTile = 64;
// A row of so many elements is worth tiles of its own.
constexpr std::int64_t kLongRow = 512;
// Registers together: most of a first-level cache, the rest is for what is read and written in place.
constexpr std::int64_t kRegisterBytes = 24 * 1024;
// On the stack; larger scratch memory is kept by the thread.
constexpr std::size_t kStackBytes = 32 * 1024;
// Weighted elements that a thread must have to do.
constexpr std::int64_t kGrain = 64 * 1024;

class ElementwiseStep final : public Step {
 public:
  explicit ElementwiseStep(Group group) {
    const Lowering lowered(group);
    std::vector<std::span<const std::int64_t>> strides;
    for (const View& in : group.inputs) strides.emplace_back(in.strides);
    axes_ = join_axes(group.shape, strides);
    size_ = 1;
    for (const SharedAxis& axis : axes_) size_ *= axis.size;
    description_ = describe(group);
    weight_ = std::max<std::int64_t>(lowered.weight, 1);
    set_rows(group);
    assign(group, lowered);
  }

  Status run(const Frame& frame) const override {
    const std::int64_t per_row = (row_ + tile_ - 1) / tile_;
    const std::int64_t units = rows_ * per_row;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / weight_ / std::min(tile_, row_));
    parallel_for(frame.threads(), units, grain, [&](std::int64_t begin, std::int64_t end) {
      if (scratch_bytes_ <= kStackBytes) {
        alignas(kArenaAlignment) std::byte scratch[kStackBytes];
        run_units(frame, scratch, begin, end, per_row);
      } else {
        thread_local std::vector<std::byte> kept;
        if (kept.size() < scratch_bytes_ + kArenaAlignment) kept.resize(scratch_bytes_ + kArenaAlignment);
        void* start = kept.data();
        std::size_t space = kept.size();
        run_units(frame, static_cast<std::byte*>(std::align(kArenaAlignment, scratch_bytes_, start, space)), begin, end,
                  per_row);
      }
    });
    return {};
  }

  std::optional<Bound> bound() const override {
    const bool as_they_lie =
        std::all_of(inputs_.begin(), inputs_.end(), [](const Input& in) { return in.access == Access::whole; });
    if (rows_ != 1 || row_ > tile_ || !as_they_lie || !once_.empty()) return std::nullopt;
    return Bound{scratch_bytes_, [this](const Frame& frame, std::byte* scratch, std::vector<BoundCall>& calls) {
                   std::vector<std::byte*> pointers;
                   for (const Input& in : inputs_) pointers.push_back(frame.at(in.view));
                   for (const std::size_t offset : slot_offsets_) pointers.push_back(scratch + offset);
                   for (const Output& out : outputs_) pointers.push_back(frame.at(out.view));
                   for (const Instruction& one : each_) {
                     calls.push_back({one.kernel,
                                      {pointers[one.in[0]], pointers[one.in[1]], pointers[one.in[2]]},
                                      pointers[one.out],
                                      static_cast<std::size_t>(row_)});
                   }
                 }};
  }

  std::string describe() const override { return description_; }

 private:
  static std::string describe(const Group& group) {
    std::string names;
    for (const GroupMember& m : group.members) names += fmt::format("{}{}", names.empty() ? "" : " ", m.op->name);
    return fmt::format("elementwise {} [{}]", to_string(TensorType{group.members.back().dtype, group.shape}), names);
  }

  // Decides on rows and on how each input is read.
  void set_rows(const Group& group) {
    std::vector<std::int64_t> dense(axes_.size());
    std::int64_t stride = 1;
    for (std::size_t a = axes_.size(); a-- > 0;) {
      dense[a] = stride;
      stride *= axes_[a].size;
    }
    rows_ = 1;
    row_ = size_;
    by_rows_ = axes_.size() > 1 && axes_.back().size >= kLongRow;
    if (by_rows_) {
      row_ = axes_.back().size;
      rows_ = size_ / row_;
    }
    for (std::size_t i = 0; i < group.inputs.size(); ++i) {
      Input in;
      in.view = group.inputs[i];
      in.bytes = size_of(in.view.type.dtype);
      for (const SharedAxis& axis : axes_) in.strides.push_back(axis.strides[i]);
      in.splat = splat_kernel(in.bytes);
      if (in.strides == dense) {
        in.access = Access::whole;
      } else if (std::all_of(in.strides.begin(), in.strides.end(), [](std::int64_t s) { return s == 0; })) {
        in.access = Access::scalar;
      } else if (by_rows_ && in.strides.back() == 1) {
        in.access = Access::row;
      } else if (by_rows_ && in.strides.back() == 0) {
        in.access = Access::column;
      } else if (const std::int64_t period = period_of(in.strides, dense); !by_rows_ && period <= kMaxTile / 2) {
        in.access = Access::periodic;
        period_ = std::max(period_, period);  // each divides the next
      } else {
        in.access = Access::gathered;
      }
      inputs_.push_back(std::move(in));
    }
  }

  // After how many elements an input that only repeats along leading axes begins anew; the size if it does not.
  std::int64_t period_of(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dense) const {
    std::int64_t period = 1;
    std::size_t a = strides.size();
    while (a > 0 && strides[a - 1] == dense[a - 1]) period *= axes_[--a].size;
    while (a > 0 && strides[a - 1] == 0) --a;
    return a == 0 ? period : size_;
  }

  // Registers get places in the scratch memory, reused after their last use by others of the same size.
  void assign(const Group& group, const Lowering& lowered) {
    const std::size_t inputs = inputs_.size();
    const std::size_t regs = lowered.dtypes.size();
    std::vector<bool> constant(regs, false);
    for (std::size_t i = 0; i < inputs; ++i) constant[i] = inputs_[i].access == Access::scalar && size_ > 1;
    std::vector<std::size_t> last_use(regs, 0);
    for (std::size_t k = 0; k < lowered.instructions.size(); ++k) {
      const Instruction& one = lowered.instructions[k];
      bool all = one.operands > 0;
      for (std::size_t o = 0; o < one.operands; ++o) {
        const Reg in = lowered.resolved(one.in[o]);
        last_use[in] = k;
        all = all && constant[in];
      }
      constant[one.out] = all && lowered.output_of[one.out] < 0;
    }
    // Slots: [inputs that are filled] [constants] [registers by size], as (bytes an element) lists.
    std::vector<std::size_t> slot_bytes;  // by slot
    std::vector<std::int32_t> slot_of(regs, -1);
    const auto new_slot = [&](std::size_t bytes) {
      slot_bytes.push_back(bytes);
      return static_cast<std::int32_t>(slot_bytes.size() - 1);
    };
    const bool filled_needed = size_ > 1;
    for (std::size_t i = 0; i < inputs; ++i) {
      const Access access = inputs_[i].access;
      if (access == Access::whole || access == Access::row || (access == Access::scalar && !filled_needed)) continue;
      slot_of[i] = new_slot(inputs_[i].bytes);
    }
    std::map<std::size_t, std::vector<std::int32_t>> free;  // by element size
    for (std::size_t k = 0; k < lowered.instructions.size(); ++k) {
      const Instruction& one = lowered.instructions[k];
      const auto release = [&](Reg reg) {
        if (reg < inputs || constant[reg] || slot_of[reg] < 0 || last_use[reg] != k) return;
        free[slot_bytes[static_cast<std::size_t>(slot_of[reg])]].push_back(slot_of[reg]);
        last_use[reg] = SIZE_MAX;  // an operand may be named twice
      };
      for (std::size_t o = 0; o < one.operands; ++o) release(lowered.resolved(one.in[o]));
      if (lowered.output_of[one.out] >= 0) continue;
      const std::size_t bytes = size_of(lowered.dtypes[one.out]);
      auto& list = free[bytes];
      if (constant[one.out] || list.empty()) {
        slot_of[one.out] = new_slot(bytes);
      } else {
        slot_of[one.out] = list.back();
        list.pop_back();
      }
    }
    set_tile(slot_bytes);
    number_pointers(group, lowered, constant, slot_of, slot_bytes);
  }

  void set_tile(const std::vector<std::size_t>& slot_bytes) {
    std::int64_t an_element = 0;
    for (const std::size_t bytes : slot_bytes) an_element += static_cast<std::int64_t>(bytes);
    tile_ = std::clamp(kRegisterBytes / std::max<std::int64_t>(an_element, 1), kMinTile, kMaxTile);
    tile_ = std::max(tile_ / period_, std::int64_t{1}) * period_;
    if (period_ == 1 && tile_ < row_) tile_ = tile_ / 64 * 64;
    tile_ = std::min(tile_, row_);
  }

  // Pointers: the inputs, then the slots, then the outputs.
  void number_pointers(const Group& group, const Lowering& lowered, const std::vector<bool>& constant,
                       const std::vector<std::int32_t>& slot_of, const std::vector<std::size_t>& slot_bytes) {
    const std::size_t inputs = inputs_.size();
    std::size_t at = aligned((inputs + slot_bytes.size() + lowered.stored.size()) * sizeof(void*));
    for (const std::size_t bytes : slot_bytes) {
      slot_offsets_.push_back(at);
      at += aligned(bytes * static_cast<std::size_t>(tile_));
    }
    scratch_bytes_ = at;
    for (std::size_t i = 0; i < inputs; ++i) {
      inputs_[i].base = static_cast<std::uint32_t>(slot_of[i] >= 0 ? inputs + static_cast<std::size_t>(slot_of[i]) : i);
      if (inputs_[i].access == Access::scalar && slot_of[i] < 0) inputs_[i].access = Access::whole;
    }
    const auto pointer_of = [&](Reg reg) -> Reg {
      reg = lowered.resolved(reg);
      if (reg < inputs) return inputs_[reg].base;
      if (lowered.output_of[reg] >= 0) {
        return static_cast<Reg>(inputs + slot_bytes.size() + static_cast<std::size_t>(lowered.output_of[reg]));
      }
      return static_cast<Reg>(inputs + static_cast<std::size_t>(slot_of[reg]));
    };
    for (Instruction one : lowered.instructions) {
      const bool is_constant = constant[one.out];
      for (std::size_t o = 0; o < one.operands; ++o) one.in[o] = pointer_of(one.in[o]);
      one.out = pointer_of(one.out);
      (is_constant ? once_ : each_).push_back(one);
    }
    for (std::size_t k = 0; k < lowered.stored.size(); ++k) {
      const View& view = *group.members[lowered.stored[k]].result;
      outputs_.push_back({view, size_of(view.type.dtype), static_cast<std::uint32_t>(inputs + slot_bytes.size() + k)});
    }
  }

  // --- Run time

  static void execute(const std::vector<Instruction>& list, std::byte** pointers, std::size_t n) {
    for (const Instruction& one : list) {
      const void* in[3] = {pointers[one.in[0]], pointers[one.in[1]], pointers[one.in[2]]};
      one.kernel(in, pointers[one.out], n);
    }
  }

  std::int64_t outer_offset(const Input& in, std::int64_t row) const {
    std::int64_t offset = 0;
    for (std::size_t a = axes_.size() - 1; a-- > 0;) {
      offset += row % axes_[a].size * in.strides[a];
      row /= axes_[a].size;
    }
    return offset;
  }

  // Elements [at, at + n) of the group's order, one behind the other.
  template <typename T>
  void gather(const Input& in, const std::byte* from, std::byte* to, std::int64_t at, std::int64_t n) const {
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    const std::int64_t length = axes_.back().size;
    const std::int64_t stride = in.strides.back();
    std::int64_t row = at / length;
    std::int64_t column = at % length;
    while (n > 0) {
      const T* start = source + outer_offset(in, row) + column * stride;
      const std::int64_t part = std::min(n, length - column);
      for (std::int64_t i = 0; i < part; ++i) target[i] = start[i * stride];
      target += part;
      n -= part;
      column = 0;
      ++row;
    }
  }

  void gather_any(const Input& in, const std::byte* from, std::byte* to, std::int64_t at, std::int64_t n) const {
    switch (in.bytes) {
      case 1: return gather<std::uint8_t>(in, from, to, at, n);
      case 2: return gather<std::uint16_t>(in, from, to, at, n);
      case 4: return gather<std::uint32_t>(in, from, to, at, n);
      default: return gather<std::uint64_t>(in, from, to, at, n);
    }
  }

  void run_units(const Frame& frame, std::byte* scratch, std::int64_t begin, std::int64_t end,
                 std::int64_t per_row) const {
    std::byte** pointers = reinterpret_cast<std::byte**>(scratch);
    for (std::size_t s = 0; s < slot_offsets_.size(); ++s) pointers[inputs_.size() + s] = scratch + slot_offsets_[s];
    const auto most = static_cast<std::size_t>(tile_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& in = inputs_[i];
      pointers[i] = frame.at(in.view);
      if (in.access == Access::scalar) {
        const void* const from = pointers[i];
        in.splat(&from, pointers[in.base], most);
      } else if (in.access == Access::periodic) {
        gather_any(in, pointers[i], pointers[in.base], 0, std::min(tile_, size_));
      }
    }
    execute(once_, pointers, most);
    if (begin == 0 && end == 1 && rows_ == 1) {
      // Nothing moves: a small group, or the only tile.
      for (const Output& out : outputs_) pointers[out.pointer] = frame.at(out.view);
      for (const Input& in : inputs_) {
        if (in.access == Access::gathered) gather_any(in, frame.at(in.view), pointers[in.base], 0, row_);
      }
      execute(each_, pointers, static_cast<std::size_t>(std::min(tile_, row_)));
      return;
    }
    std::int64_t repeated_row = -1;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t row = unit / per_row;
      const std::int64_t column = unit % per_row * tile_;
      const std::int64_t n = std::min(tile_, row_ - column);
      const std::int64_t at = row * row_ + column;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const Input& in = inputs_[i];
        const auto bytes = static_cast<std::int64_t>(in.bytes);
        switch (in.access) {
          case Access::whole: pointers[i] = frame.at(in.view) + at * bytes; break;
          case Access::row: pointers[i] = frame.at(in.view) + (outer_offset(in, row) + column) * bytes; break;
          case Access::column:
            if (row != repeated_row) {
              const void* const from = frame.at(in.view) + outer_offset(in, row) * bytes;
              in.splat(&from, pointers[in.base], static_cast<std::size_t>(std::min(tile_, row_)));
            }
            break;
          case Access::gathered: gather_any(in, frame.at(in.view), pointers[in.base], at, n); break;
          default: break;
        }
      }
      repeated_row = row;
      for (const Output& out : outputs_) {
        pointers[out.pointer] = frame.at(out.view) + at * static_cast<std::int64_t>(out.bytes);
      }
      execute(each_, pointers, static_cast<std::size_t>(n));
    }
  }

  std::vector<SharedAxis> axes_;
  std::int64_t size_ = 1;
  std::int64_t rows_ = 1, row_ = 1;  // rows of so many elements; one for all unless tiles keep to the innermost axis
  bool by_rows_ = false;
  std::int64_t tile_ = 1;
  std::int64_t period_ = 1;
  std::int64_t weight_ = 1;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Instruction> once_, each_;
  std::vector<std::size_t> slot_offsets_;
  std::size_t scratch_bytes_ = 0;
  std::string description_;
};

}  // namespace

std::optional<std::string> why_not_elementwise(const ops::OpDef& op, const void*, std::span<const TensorType> operands,
                                               const TensorType& result) {
  if (recipe_of(op, operands, result)) return std::nullopt;
  if (!has(op.traits, ops::Trait::elementwise)) return "not element-wise";
  return fmt::format("no element-wise kernel for {}", name(natural_dtype(op, operands, result)));
}

std::unique_ptr<Step> make_elementwise_step(Group group) { return std::make_unique<ElementwiseStep>(std::move(group)); }

}  // namespace reprise::native
