#include "ops/scan/scan.native.hpp"

#include <algorithm>

#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

class ScanStep final : public Step {
 public:
  ScanStep(const ScanKernel& kernel, View x, View out, std::size_t axis, bool reverse, std::string_view name)
      : kernel_(kernel), x_(std::move(x)), out_(std::move(out)), reverse_(reverse), name_(name) {
    const Shape& shape = x_.type.shape;
    for (std::size_t a = 0; a < shape.size(); ++a) (a < axis ? outer_ : a == axis ? size_ : inner_) *= shape[a];
  }

  Status run(const Frame& frame) const override {
    const std::byte* x = frame.at(x_);
    std::byte* out = frame.at(out_);
    if (inner_ == 1) {
      // Eight rows go side by side.
      const std::int64_t groups = (outer_ + 7) / 8;
      parallel_for(frame.threads(), groups, std::max<std::int64_t>(1, kParallelGrain / (size_ * 8)),
                   [&](std::int64_t begin, std::int64_t end) {
                     kernel_.rows(x, out, size_, reverse_, begin * 8, std::min(end * 8, outer_));
                   });
      return {};
    }
    const auto in_bytes = static_cast<std::int64_t>(size_of(x_.type.dtype));
    const auto out_bytes = static_cast<std::int64_t>(size_of(out_.type.dtype));
    for (std::int64_t o = 0; o < outer_; ++o) {
      parallel_for(frame.threads(), inner_, std::max<std::int64_t>(64, kParallelGrain / size_),
                   [&](std::int64_t begin, std::int64_t end) {
                     kernel_.columns(x + o * size_ * inner_ * in_bytes, out + o * size_ * inner_ * out_bytes, size_,
                                     inner_, reverse_, begin, end);
                   });
    }
    return {};
  }

  std::string describe() const override {
    return fmt::format("{} {} {}x{}x{}, along the middle", name_, short_name(x_.type.dtype), outer_, size_, inner_);
  }

 private:
  ScanKernel kernel_;
  View x_, out_;
  std::int64_t outer_ = 1, size_ = 1, inner_ = 1;
  bool reverse_;
  std::string_view name_;
};

}  // namespace

Decision plan_scan(OpPlanner& op, const ops::ScanAttrs& attrs, ScanKind kind) {
  const ScanKernel kernel = scan_kernel(kind, op[0].type.dtype, op.result_type().dtype);
  if (!kernel.rows) return decline("complex");
  const View x = op.dense(0);
  const View out = op.result();
  const std::size_t axis = axis_of(attrs.axis, x.type.shape.size());
  op.add(std::make_unique<ScanStep>(kernel, x, out, axis, attrs.reverse, op.def().name), {x}, {out});
  return {};
}

}  // namespace reprise::native
