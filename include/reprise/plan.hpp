// What a replay of the native backend does, for people and tools.
//
//   Result<PlanInfo> plan = exe->plan(types);
//   to_string(*plan);  // one line a step, then the memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reprise/dtype.hpp"

namespace reprise {

/// Whose memory a buffer of a plan is.
enum class BufferKind : std::uint8_t {
  input,     ///< the caller's
  constant,  ///< the executable's, the same for all replays: captures, packed weights, tables
  arena,     ///< a place in the replay's arena, which buffers share whose lives do not overlap
  array,     ///< an array of its own: an output, or what passes to or from MLX
};
std::string_view name(BufferKind kind);

struct BufferInfo {
  BufferKind kind = BufferKind::arena;
  TensorType type;
  std::size_t bytes = 0;   ///< in the arena rounded up to whole cache lines
  std::size_t offset = 0;  ///< in the arena
  /// Steps that use it first and last. A buffer that no step uses, an input that is returned as it is, has none.
  bool used = false;
  std::uint32_t first_step = 0, last_step = 0;
  bool is_output = false;
};

struct StepInfo {
  std::string text;                          ///< the kernel and its sizes
  std::string why;                           ///< why no better kernel does it; empty when there is none
  bool on_mlx = false;                       ///< MLX does it
  std::vector<std::size_t> instructions;     ///< of the program, by number; none for a step that only moves data
  std::vector<std::uint32_t> reads, writes;  ///< buffers
};

/// Bytes are those of a replay. MLX's own working memory, within steps on MLX, is not known and not counted.
struct PlanInfo {
  std::vector<StepInfo> steps;
  std::vector<BufferInfo> buffers;
  std::vector<std::uint32_t> outputs;  ///< the buffer that holds each output
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
  std::size_t constant_bytes = 0;
  std::size_t arena_bytes = 0;
  std::size_t live_bytes = 0;  ///< most that lives in the arena at once: no arena can be smaller
  std::size_t peak_bytes = 0;  ///< inputs, constants, arena and the most that arrays of their own take at once
};

/// One line a step, then the memory. With `explain`, a step that has reasons is followed by them, one a line.
std::string to_string(const PlanInfo& plan, bool explain = false);
/// A JSON object, indented, for tools.
std::string to_json(const PlanInfo& plan);
/// A picture that stands alone: the steps from top to bottom, beside them the arena with each buffer's place and life.
std::string to_svg(const PlanInfo& plan);

}  // namespace reprise
