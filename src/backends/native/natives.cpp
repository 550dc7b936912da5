// All native planners. The families that have some are joined here and nowhere else.
#include <map>

#include "backends/native/native.hpp"
#include "ops/attention/attention.native.hpp"
#include "ops/cast/cast.native.hpp"
#include "ops/control/control.native.hpp"
#include "ops/conv/conv.native.hpp"
#include "ops/dot/dot.native.hpp"
#include "ops/dot/quantized.native.hpp"
#include "ops/fill/fill.native.hpp"
#include "ops/index/index.native.hpp"
#include "ops/norm/norm.native.hpp"
#include "ops/reduce/reduce.native.hpp"
#include "ops/rope/rope.native.hpp"
#include "ops/scan/scan.native.hpp"
#include "ops/select/select.native.hpp"
#include "ops/shape/shape.native.hpp"
#include "ops/slice/slice.native.hpp"
#include "ops/sort/sort.native.hpp"
#include "ops/window/window.native.hpp"

namespace reprise::native {
namespace {

// clang-format off
constexpr std::span<const Native> kNatives[] = {
    kShapeNatives,
    kSliceNatives,
    kFillNatives,
    kIndexNatives,
    kSortNatives,
    kCastNatives,
    kSelectNatives,
    kDotNatives,
    kQuantizedNatives,
    kReduceNatives,
    kScanNatives,
    kAttentionNatives,
    kNormNatives,
    kRopeNatives,
    kControlNatives,
    kConvNatives,
    kWindowNatives,
};
// clang-format on

std::map<std::string_view, const Native*> index() {
  std::map<std::string_view, const Native*> out;
  for (const auto family : kNatives) {
    for (const Native& native : family) out[native.name] = &native;
  }
  return out;
}

}  // namespace

const Native* native_of(const ops::OpDef& op) {
  static const auto all = index();
  const auto found = all.find(op.name);
  return found == all.end() || found->second->attrs_type != op.attrs_type() ? nullptr : found->second;
}

}  // namespace reprise::native
