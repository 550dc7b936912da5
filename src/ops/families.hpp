// The families of the op table, in the order of the reference manual. A new family is one include and one line.
#pragma once

#include "ops/attention/attention.hpp"
#include "ops/binary/binary.hpp"
#include "ops/cast/cast.hpp"
#include "ops/control/control.hpp"
#include "ops/conv/conv.hpp"
#include "ops/dot/dot.hpp"
#include "ops/fft/fft.hpp"
#include "ops/fill/fill.hpp"
#include "ops/host/host.hpp"
#include "ops/index/index.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/rope/rope.hpp"
#include "ops/scan/scan.hpp"
#include "ops/select/select.hpp"
#include "ops/shape/shape.hpp"
#include "ops/slice/slice.hpp"
#include "ops/sort/sort.hpp"
#include "ops/unary/unary.hpp"
#include "ops/window/window.hpp"

namespace reprise::ops {

inline constexpr std::span<const OpDef> kFamilies[] = {
    kCastOps,   kUnaryOps,  kBinaryOps, kShapeOps,     kReduceOps, kDotOps,  kConvOps,
    kSelectOps, kSliceOps,  kIndexOps,  kSortOps,      kWindowOps, kScanOps, kFftOps,
    kFillOps,   kLinalgOps, kNormOps,   kAttentionOps, kRopeOps,   kHostOps, kControlOps,
};

}  // namespace reprise::ops
