// What the native backend makes of a typed program: a flat list of steps over slots of memory that are planned ahead.
//
// A value of the program is a View: a slot, and how its elements lie in it. Transposes, slices and broadcasts are views
// without a step. A replay fills a table with one address for each slot and lets the steps run down the list; a step
// looks nothing up, allocates nothing and knows its sizes from the plan.
#pragma once

#include <mlx/array.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/dtype.hpp"
#include "reprise/executable.hpp"
#include "reprise/plan.hpp"

namespace reprise::native {

using SlotId = std::uint32_t;

/// Slots of an arena begin at multiples of a cache line, which is the widest vector too.
inline constexpr std::size_t kArenaAlignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Of the elements of a type that inference let through.
std::size_t bytes_of(const TensorType& type);

/// Elements of a slot, seen as a tensor.
struct View {
  SlotId slot = 0;
  TensorType type;
  std::vector<std::int64_t> strides;  ///< in elements, one for each axis; 0 repeats, negative runs backwards
  std::int64_t offset = 0;            ///< of element [0, 0, ...], in elements

  const Shape& shape() const { return type.shape; }
  std::int64_t size() const;  ///< number of elements
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(type.dtype); }
  /// Row-major without gaps. (Strides of axes of one element do not matter.)
  bool is_dense() const;
};

std::vector<std::int64_t> dense_strides(const Shape& shape);

/// An axis of several tensors of one shape, with the stride of each, in elements.
struct SharedAxis {
  std::int64_t size;
  std::vector<std::int64_t> strides;
};

/// Axes that every tensor runs through at one stride become one; those of one element go. Outermost first; none for a
/// single element.
std::vector<SharedAxis> join_axes(const Shape& shape, std::span<const std::span<const std::int64_t>> strides);
View dense_view(SlotId slot, TensorType type);

/// Where a slot's memory comes from.
enum class Storage : std::uint8_t {
  input,     ///< the caller's array
  constant,  ///< a captured or packed array, the same for all replays
  arena,     ///< a place in the replay's arena, shared by slots whose lives do not overlap
  array,     ///< an array of its own: an output, or what a step on MLX reads or makes
};

struct Slot {
  Storage storage = Storage::arena;
  std::size_t index = 0;  ///< of the input or the constant
  TensorType type;        ///< what the array holds, dense; for the arena only its bytes count
  std::size_t bytes = 0;
  std::size_t offset = 0;                 ///< in the arena
  std::uint32_t first_step = UINT32_MAX;  ///< that writes it
  std::uint32_t last_step = 0;            ///< that uses it
  bool made_by_step = false;              ///< an array that its step brings along, instead of getting memory for it
  bool may_be_shared = false;             ///< an array that MLX saw or made: other arrays may show its memory
};

/// One replay's memory, as the steps see it.
class Frame {
 public:
  Frame(std::vector<std::byte*>& addresses, std::vector<std::optional<mlx::core::array>>& arrays,
        const RunOptions& options, int threads)
      : addresses_(addresses), arrays_(arrays), options_(options), threads_(threads) {}

  /// Element [0, 0, ...] of a view.
  template <typename T = std::byte>
  T* at(const View& view) const {
    return reinterpret_cast<T*>(addresses_[view.slot] +
                                view.offset * static_cast<std::int64_t>(size_of(view.type.dtype)));
  }

  /// The array of a slot whose storage is input, constant or array.
  std::optional<mlx::core::array>& array(SlotId slot) const { return arrays_[slot]; }
  void set_array(SlotId slot, mlx::core::array array) const;
  /// Drops the slot's array.
  mlx::core::array take_array(SlotId slot) const;

  const RunOptions& options() const { return options_; }
  /// Threads that a kernel may use now, at least 1.
  int threads() const { return threads_; }

 private:
  std::vector<std::byte*>& addresses_;
  std::vector<std::optional<mlx::core::array>>& arrays_;
  const RunOptions& options_;
  int threads_;
};

/// A call of an element-wise kernel at fixed addresses.
struct BoundCall {
  void (*kernel)(const void* const* in, void* out, std::size_t n);
  const void* in[3];
  void* out;
  std::size_t n;
};

/// One kernel call, sizes and all. Immutable; many threads run it at once, each with its own frame.
class Step {
 public:
  virtual ~Step() = default;
  virtual Status run(const Frame& frame) const = 0;
  /// "gemm f32 1024x1024x1024 (oneDNN)": for people.
  virtual std::string describe() const = 0;
  virtual bool on_mlx() const { return false; }
  /// Called once, when the whole plan stands and this is its step `index`.
  virtual void finish(const struct Plan& plan, std::uint32_t index);

  /// A step that is only a few calls may give them, for a loop that repeats them without the step. They stay right as
  /// long as the frame's addresses and the scratch memory do. Empty when it is more than that.
  struct Bound {
    std::size_t scratch_bytes = 0;
    std::function<void(const Frame&, std::byte* scratch, std::vector<BoundCall>& calls)> append;
  };
  virtual std::optional<Bound> bound() const { return std::nullopt; }

  std::vector<SlotId> reads;
  std::vector<SlotId> writes;
  std::string why;                        ///< why no better kernel was chosen; empty when there is none
  std::vector<std::size_t> instructions;  ///< of the program, that it computes; none for a copy that outputs need
};

struct Plan {
  std::vector<Slot> slots;
  std::deque<mlx::core::array> constants;  ///< their addresses stay
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<View> outputs;                         ///< dense, of storage input, constant or array
  std::vector<std::vector<SlotId>> allocate_before;  ///< by step: arrays that it needs memory for
  std::vector<std::vector<SlotId>> release_after;    ///< by step: arrays that nothing reads any more
  std::size_t arena_bytes = 0;
  std::size_t live_bytes = 0;  ///< greatest sum of arena slots that live at once: no arena can be smaller
  bool has_kernels = false;    ///< not all is left to MLX
};

PlanInfo describe(const Plan& plan);

/// Sets the addresses of the slots that lie in the arena, and of those whose arrays are the same for all replays.
void place_arena(const Plan& plan, std::byte* arena, std::vector<std::byte*>& addresses);
void place_constants(const Plan& plan, std::vector<std::byte*>& addresses);

/// From the steps' reads and writes: the slots' lives, the arrays' lists, and for each arena slot a place such that
/// those that live at the same time do not overlap.
void place_slots(Plan& plan);

}  // namespace reprise::native
