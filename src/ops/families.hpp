// The families of the op table, in the order of the reference manual. A new family is one include and one line.
#pragma once

#include "ops/attention/attention.hpp"
#include "ops/binary/binary.hpp"
#include "ops/cast/cast.hpp"
#include "ops/control/control.hpp"
#include "ops/dot/dot.hpp"
#include "ops/fill/fill.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/rope/rope.hpp"
#include "ops/select/select.hpp"
#include "ops/shape/shape.hpp"
#include "ops/slice/slice.hpp"
#include "ops/unary/unary.hpp"

namespace reprise::ops {

inline constexpr std::span<const OpDef> kFamilies[] = {
    kCastOps,  kUnaryOps, kBinaryOps, kShapeOps,     kReduceOps, kDotOps,     kSelectOps,
    kSliceOps, kFillOps,  kNormOps,   kAttentionOps, kRopeOps,   kControlOps,
};

}  // namespace reprise::ops
