// Groups of element-wise instructions, computed tile by tile in one pass over memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/native/plan.hpp"
#include "ops/op_def.hpp"

namespace reprise::native {

/// One instruction of a group. All results of a group have one shape.
struct GroupMember {
  const ops::OpDef* op = nullptr;
  const void* attrs = nullptr;
  /// Below the group's number of inputs: an input; else the result of an earlier member, counted from there on.
  std::vector<std::uint32_t> operands;
  DType dtype = DType::float32;  ///< of the result
  /// Where it is stored (dense); nothing for what only the group itself reads. The last member's may be where an input
  /// lies that is dense and of its dtype.
  std::optional<View> result;
  bool over_input = false;  ///< the result lies where an input does
};

struct Group {
  Shape shape;
  std::vector<View>
      inputs;  ///< broadcast to `shape`: strides of 0 repeat; scalars that are the same for all replays too
  std::vector<GroupMember> members;
};

/// Why the op cannot be a member of a group with these types, or nothing when it can.
std::optional<std::string> why_not_elementwise(const ops::OpDef& op, const void* attrs,
                                               std::span<const TensorType> operands, const TensorType& result);

/// Inputs whose innermost stride is neither 0 nor 1 after adjacent axes are joined are read element by element.
std::unique_ptr<Step> make_elementwise_step(Group group);

}  // namespace reprise::native
