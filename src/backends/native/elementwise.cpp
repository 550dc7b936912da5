// The step that runs a group's tile program over tiles, on several threads.
#include "backends/native/elementwise.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/native/threads.hpp"
#include "backends/native/tile_program.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

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
    const TileProgram lowered = lower(group);
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
                   for (const TileInstruction& one : each_) {
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
  void assign(const Group& group, const TileProgram& lowered) {
    const std::size_t inputs = inputs_.size();
    const std::size_t regs = lowered.dtypes.size();
    std::vector<bool> constant(regs, false);
    for (std::size_t i = 0; i < inputs; ++i) constant[i] = inputs_[i].access == Access::scalar && size_ > 1;
    std::vector<std::size_t> last_use(regs, 0);
    for (std::size_t k = 0; k < lowered.instructions.size(); ++k) {
      const TileInstruction& one = lowered.instructions[k];
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
      const TileInstruction& one = lowered.instructions[k];
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
  void number_pointers(const Group& group, const TileProgram& lowered, const std::vector<bool>& constant,
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
    for (TileInstruction one : lowered.instructions) {
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

  static void execute(const std::vector<TileInstruction>& list, std::byte** pointers, std::size_t n) {
    for (const TileInstruction& one : list) {
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
  std::vector<TileInstruction> once_, each_;
  std::vector<std::size_t> slot_offsets_;
  std::size_t scratch_bytes_ = 0;
  std::string description_;
};

}  // namespace

std::unique_ptr<Step> make_elementwise_step(Group group) { return std::make_unique<ElementwiseStep>(std::move(group)); }

}  // namespace reprise::native
