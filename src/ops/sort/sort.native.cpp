#include "ops/sort/sort.native.hpp"

#include <algorithm>

#include "backends/native/copy.hpp"
#include "backends/native/kernels/sort.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

class SortStep final : public Step {
 public:
  SortStep(View x, View out, View scratch, bool positions, bool ascending)
      : x_(std::move(x)),
        out_(std::move(out)),
        scratch_(std::move(scratch)),
        n_(x_.type.shape.back()),
        rows_(x_.size() / n_),
        positions_(positions),
        ascending_(ascending) {}

  Status run(const Frame& frame) const override {
    const DType dtype = x_.type.dtype;
    if (positions_) {
      argsort_rows(dtype, frame.at(x_), frame.at<std::uint32_t>(out_), rows_, n_, ascending_, frame.at(scratch_),
                   frame.threads());
    } else {
      sort_rows(dtype, frame.at(x_), frame.at(out_), rows_, n_, ascending_, frame.at(scratch_), frame.threads());
    }
    return {};
  }

  std::string describe() const override {
    return fmt::format("{} {}, {} rows of {}, {}", positions_ ? "argsort" : "sort", short_name(x_.type.dtype), rows_,
                       n_, ascending_ ? "ascending" : "descending");
  }

 private:
  View x_, out_, scratch_;
  std::int64_t n_, rows_;
  bool positions_, ascending_;
};

// A view whose last axis is what was `axis`, the others kept in order.
View with_last(View view, std::size_t axis) {
  const auto from = static_cast<std::ptrdiff_t>(axis);
  std::rotate(view.strides.begin() + from, view.strides.begin() + from + 1, view.strides.end());
  std::rotate(view.type.shape.begin() + from, view.type.shape.begin() + from + 1, view.type.shape.end());
  return view;
}

void emit(OpPlanner& op, const ops::SortAttrs& attrs, bool positions) {
  const std::size_t axis = axis_of(attrs.axis, op[0].strides.size());
  const View x = op.dense(with_last(op[0], axis));
  const std::int64_t n = x.type.shape.back();
  const View result = op.result();
  const View rows = with_last(result, axis);
  // Columns are turned into rows and back.
  const View out = rows.is_dense() ? rows : op.scratch(rows.type);
  const std::size_t bytes = positions ? argsort_scratch_bytes(x.type.dtype, n) : sort_scratch_bytes(x.type.dtype, n);
  View scratch = out;
  if (bytes > 0) scratch = op.scratch({DType::uint64, {static_cast<std::int64_t>((bytes + 7) / 8)}});
  op.add(std::make_unique<SortStep>(x, out, scratch, positions, attrs.ascending), {x}, {out, scratch});
  if (out.slot != result.slot) op.add(make_copy_step(out, rows), {}, {});
}

}  // namespace

Decision plan_sort(OpPlanner& op, const ops::SortAttrs& attrs) {
  if (op.result_type().shape[axis_of(attrs.axis, op.result_type().shape.size())] == 1) {
    op.set_view(op[0]);
  } else {
    emit(op, attrs, false);
  }
  return {};
}

Decision plan_argsort(OpPlanner& op, const ops::SortAttrs& attrs) {
  emit(op, attrs, true);
  return {};
}

}  // namespace reprise::native
