// Copies between views of one shape and dtype.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/native/plan.hpp"

namespace reprise::native {

/// The axes of a source and a target, joined, ready to copy between any addresses. Strides are in elements.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(const Shape& shape, std::span<const std::int64_t> from_strides, std::span<const std::int64_t> to_strides,
              std::size_t element_bytes);

  /// `from` and `to` point to elements [0, 0, ...]. They must not overlap.
  void run(const std::byte* from, std::byte* to, int threads) const;
  /// One run of neighbours on both sides.
  bool is_contiguous() const { return axes_.empty() || (axes_.size() == 1 && axes_[0].from == 1 && axes_[0].to == 1); }

  struct Axis {
    std::int64_t size, from, to;
  };
  /// In the order of the target, outermost first; none for a single element.
  std::span<const Axis> axes() const { return axes_; }

 private:
  std::vector<Axis> axes_;
  std::size_t element_bytes_ = 1;
};

/// Makes the array of `to` out of that of `from`, whole and of one type: the same array when nobody else holds it, else
/// a new one, which holds a copy if `copied` and anything if not.
std::unique_ptr<Step> make_take_over_step(View from, View to, bool copied);

/// Writes the elements of `from` to `to`, both of one shape and of elements of one size. They must not overlap.
std::unique_ptr<Step> make_copy_step(const View& from, const View& to);

}  // namespace reprise::native
