// A group becomes a list of instructions for an interpreter of tiles: each is one kernel over a run of elements that
// stays in the first-level cache. Operands are converted where the row's promotion says so; half precision is computed
// in float32 and rounded after each op, so that a result does not depend on what else is in the group.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "backends/native/elementwise.hpp"
#include "backends/native/kernels/tile.hpp"

namespace reprise::native {

using Reg = std::uint32_t;  ///< a virtual register: a value in one dtype

struct TileInstruction {
  TileFn kernel = nullptr;
  std::array<Reg, 3> in{};
  Reg out = 0;
  std::uint8_t operands = 0;
};

/// What a group's values are made with, in order.
struct TileProgram {
  std::vector<TileInstruction> instructions;
  std::vector<DType> dtypes;            ///< by register; inputs come first
  std::vector<std::int32_t> output_of;  ///< by register: the output that it is, or -1
  std::vector<std::uint32_t> stored;    ///< by output: the member
  std::map<Reg, Reg> aliases;           ///< registers that are the bytes of another under their own dtype
  std::int64_t weight = 0;              ///< of an element: how long it takes, in units of an addition in the cache

  /// The register whose bytes these are.
  Reg resolved(Reg reg) const;
};

TileProgram lower(const Group& group);

}  // namespace reprise::native
