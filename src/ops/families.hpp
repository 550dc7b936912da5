// The families of the op table, in the order of the reference manual. A new family is one include and one line.
#pragma once

#include "ops/binary/binary.hpp"
#include "ops/cast/cast.hpp"
#include "ops/control/control.hpp"
#include "ops/unary/unary.hpp"

namespace reprise::ops {

inline constexpr std::span<const OpDef> kFamilies[] = {
    kCastOps,
    kUnaryOps,
    kBinaryOps,
    kControlOps,
};

}  // namespace reprise::ops
