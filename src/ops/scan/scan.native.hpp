// Native planners of running reductions.
#pragma once

#include <array>

#include "backends/native/kernels/reduce.hpp"
#include "backends/native/native.hpp"
#include "ops/scan/scan.hpp"

namespace reprise::native {

Decision plan_scan(OpPlanner& op, const ops::ScanAttrs& attrs, ScanKind kind);

template <ScanKind kKind>
Decision plan_scan_as(OpPlanner& op, const ops::ScanAttrs& attrs) {
  return plan_scan(op, attrs, kKind);
}

inline constexpr std::array kScanNatives{
    native<ops::ScanAttrs, plan_scan_as<ScanKind::sum>>("cumulative_sum"),
    native<ops::ScanAttrs, plan_scan_as<ScanKind::product>>("cumulative_product"),
    native<ops::ScanAttrs, plan_scan_as<ScanKind::max>>("cumulative_max"),
    native<ops::ScanAttrs, plan_scan_as<ScanKind::min>>("cumulative_min"),
};

}  // namespace reprise::native
