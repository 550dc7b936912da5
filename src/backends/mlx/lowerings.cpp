// The lowerings of all families, checked against the rows at compile time.
#include <algorithm>
#include <unordered_map>

#include "backends/mlx/lowering.hpp"
#include "ops/attention/attention.mlx.hpp"
#include "ops/binary/binary.mlx.hpp"
#include "ops/cast/cast.mlx.hpp"
#include "ops/conv/conv.mlx.hpp"
#include "ops/dot/dot.mlx.hpp"
#include "ops/families.hpp"
#include "ops/fft/fft.mlx.hpp"
#include "ops/fill/fill.mlx.hpp"
#include "ops/index/index.mlx.hpp"
#include "ops/linalg/linalg.mlx.hpp"
#include "ops/norm/norm.mlx.hpp"
#include "ops/reduce/reduce.mlx.hpp"
#include "ops/registry.hpp"
#include "ops/rope/rope.mlx.hpp"
#include "ops/scan/scan.mlx.hpp"
#include "ops/select/select.mlx.hpp"
#include "ops/shape/shape.mlx.hpp"
#include "ops/slice/slice.mlx.hpp"
#include "ops/sort/sort.mlx.hpp"
#include "ops/unary/unary.mlx.hpp"
#include "ops/window/window.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

constexpr std::span<const Lowering> kLowerings[] = {
    kCastLowerings,      kUnaryLowerings,  kBinaryLowerings, kShapeLowerings,  kReduceLowerings,
    kDotLowerings,       kSelectLowerings, kSliceLowerings,  kFillLowerings,   kNormLowerings,
    kAttentionLowerings, kRopeLowerings,   kConvLowerings,   kFftLowerings,    kIndexLowerings,
    kLinalgLowerings,    kScanLowerings,   kSortLowerings,   kWindowLowerings,
};

constexpr int lowerings_of(const ops::OpDef& op) {
  int n = 0;
  for (const auto& family : kLowerings) {
    for (const Lowering& l : family) {
#ifdef __SANITIZE_ADDRESS__
      // GCC 12 does not take comparisons of such addresses for constant here; the other builds check them.
      if (l.name == op.name) ++n;
#else
      if (l.name == op.name && l.attrs_type == op.attrs_type()) ++n;
#endif
    }
  }
  return n;
}

// Loops and host calls are steps of the driver, not MLX operations.
constexpr bool needs_lowering(const ops::OpDef& op) {
  return !has(op.traits, ops::Trait::control) && !has(op.traits, ops::Trait::host);
}

constexpr bool complete() {
  std::size_t wanted = 0;
  for (const auto& family : ops::kFamilies) {
    for (const ops::OpDef& op : family) {
      if (lowerings_of(op) != (needs_lowering(op) ? 1 : 0)) return false;
      if (needs_lowering(op)) ++wanted;
    }
  }
  std::size_t given = 0;
  for (const auto& family : kLowerings) given += family.size();
  return given == wanted;
}
static_assert(complete(), "every op needs exactly one MLX lowering, and every lowering an op");

}  // namespace

const Lowering& lowering_of(const ops::OpDef& op) {
  static const std::unordered_map<std::string_view, const Lowering*> by_name = [] {
    std::unordered_map<std::string_view, const Lowering*> out;
    for (const auto& family : kLowerings) {
      for (const Lowering& l : family) out.emplace(l.name, &l);
    }
    return out;
  }();
  return *by_name.at(op.name);
}

}  // namespace reprise::mlx_backend
