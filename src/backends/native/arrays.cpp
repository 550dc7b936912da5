#include "backends/native/arrays.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>

#include "backends/mlx/tape.hpp"
#include "backends/native/copy.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::native {

namespace mx = mlx::core;

namespace {

// What the C library maps anew each time would cost a page fault every 4 KiB, more than most kernels take to fill it.
void use_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  constexpr std::size_t kAlwaysMapped = std::size_t{32} << 20;  // glibc's greatest M_MMAP_THRESHOLD
  constexpr std::uintptr_t kPage = 4096;
  if (bytes < kAlwaysMapped) return;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kPage * kPage;
  // Only advice: without it everything works, more slowly.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

}  // namespace

mx::array new_array(const TensorType& type) {
  const std::size_t bytes = bytes_of(type);
  require_memory(bytes);
  mx::array out(mx::allocator::malloc(bytes), to_mlx(type.shape), to_mlx(type.dtype));
  use_huge_pages(out.data<char>(), bytes);
  return out;
}

mx::array dense_copy(const mx::array& x, int threads) {
  const TensorType type{from_mlx(x.dtype()), Shape(x.shape().begin(), x.shape().end())};
  mx::array out = new_array(type);
  const std::vector<std::int64_t> strides(x.strides().begin(), x.strides().end());
  if (x.size() > 0) {
    StridedCopy(type.shape, strides, dense_strides(type.shape), x.itemsize())
        .run(reinterpret_cast<const std::byte*>(x.data<char>()), reinterpret_cast<std::byte*>(out.data<char>()),
             threads);
  }
  return out;
}

mx::array as_dense(mx::array x, int threads) { return x.flags().row_contiguous ? x : dense_copy(x, threads); }

void require_memory(std::size_t bytes) {
  constexpr std::size_t kSmall = 1 << 20;  // the question costs more than so little is worth
  if (bytes > kSmall) mlx_backend::require_memory(bytes);
}

mx::array array_of(const Frame& frame, const View& view) {
  const mx::array& whole = *frame.array(view.slot);
  const mx::Shape shape = to_mlx(view.type.shape);
  const mx::Dtype dtype = to_mlx(view.type.dtype);
  if (view.offset == 0 && whole.shape() == shape && whole.dtype() == dtype) return whole;
  mx::array out(shape, dtype, nullptr, {});
  const std::vector<std::int64_t> strides = dense_strides(view.type.shape);
  mx::array::Flags flags{};
  flags.contiguous = true;
  flags.row_contiguous = true;
  flags.col_contiguous = view.type.shape.size() <= 1;
  out.copy_shared_buffer(whole, mx::Strides(strides.begin(), strides.end()), flags,
                         static_cast<std::size_t>(view.size()), view.offset);
  out.set_status(mx::array::Status::available);
  return out;
}

std::vector<bool> last_uses(const Plan& plan, std::uint32_t index, std::span<const View> views) {
  std::vector<bool> out(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const SlotId s = views[i].slot;
    const auto same = [s](const View& v) { return v.slot == s; };
    const bool again = std::any_of(views.begin() + static_cast<std::ptrdiff_t>(i) + 1, views.end(), same);
    const bool leaves = std::any_of(plan.outputs.begin(), plan.outputs.end(), same);
    const Slot& slot = plan.slots[s];
    out[i] = slot.storage != Storage::constant && slot.last_step == index && !again && !leaves;
  }
  return out;
}

std::vector<mx::array> take_arrays(const Frame& frame, std::span<const View> views, const std::vector<bool>& last_use) {
  std::vector<mx::array> out;
  out.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    out.push_back(array_of(frame, views[i]));
    if (last_use[i]) frame.array(views[i].slot).reset();
  }
  return out;
}

}  // namespace reprise::native
