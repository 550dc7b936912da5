#include "ops/dot/dot.native.hpp"

#include <algorithm>
#include <numeric>

#include "backends/native/kernels/gemm.hpp"
#include "backends/native/onednn.hpp"
#include "base/format.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

using Axes = std::vector<std::size_t>;

Axes others(const Axes& a, const Axes& b, std::size_t rank) {
  Axes out;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto in = [i](const Axes& list) { return std::find(list.begin(), list.end(), i) != list.end(); };
    if (!in(a) && !in(b)) out.push_back(i);
  }
  return out;
}

/// Several axes as one.
struct Merged {
  std::int64_t size = 1;
  std::int64_t stride = 0;
};

std::optional<Merged> merged(const View& x, const Axes& axes) {
  Merged out;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::int64_t size = x.type.shape[axes[k]];
    if (size == 1) continue;
    if (out.size == 1) {
      out = {size, x.strides[axes[k]]};
    } else if (x.strides[axes[k]] == out.stride * out.size) {
      out.size *= size;
    } else {
      return {};
    }
  }
  return out;
}

/// An operand as (batch, rows, columns).
struct Matrices {
  View view;
  Merged batch, rows, columns;
};

Matrices as_matrices(OpPlanner& op, std::size_t i, const Axes& batch, const Axes& rows, const Axes& columns) {
  View x = op[i];
  const auto try_merge = [&](const View& v, const Axes& b, const Axes& r, const Axes& c) -> std::optional<Matrices> {
    const auto mb = merged(v, b), mr = merged(v, r), mc = merged(v, c);
    if (!mb || !mr || !mc) return {};
    return Matrices{v, *mb, *mr, *mc};
  };
  if (auto direct = try_merge(x, batch, rows, columns)) {
    // Elements that are nowhere contiguous, or overlap, would be slow or refused.
    const bool plain =
        direct->rows.stride == 1 || direct->columns.stride == 1 || direct->rows.size == 1 || direct->columns.size == 1;
    const auto positive = [](const Merged& m) { return m.size == 1 || m.stride > 0; };
    if (plain && positive(direct->rows) && positive(direct->columns) && direct->batch.stride >= 0) return *direct;
  }
  Axes order = batch;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  View permuted = x;
  for (std::size_t k = 0; k < order.size(); ++k) {
    permuted.type.shape[k] = x.type.shape[order[k]];
    permuted.strides[k] = x.strides[order[k]];
  }
  const View dense = op.dense(permuted);
  Axes b(batch.size()), r(rows.size()), c(columns.size());
  std::iota(b.begin(), b.end(), std::size_t{0});
  std::iota(r.begin(), r.end(), b.size());
  std::iota(c.begin(), c.end(), b.size() + r.size());
  return *try_merge(dense, b, r, c);
}

template <typename T>
class GemmStep final : public Step {
 public:
  GemmStep(View a, View b, View c, const GemmShape& shape, std::string text)
      : a_(std::move(a)), b_(std::move(b)), c_(std::move(c)), shape_(shape), text_(std::move(text)) {}

  Status run(const Frame& frame) const override {
    gemm(frame.at<const T>(a_), frame.at<const T>(b_), frame.at<T>(c_), shape_, frame.threads());
    return {};
  }
  std::string describe() const override { return text_; }

 private:
  View a_, b_, c_;
  GemmShape shape_;
  std::string text_;
};

/// Below so many multiplications oneDNN's fixed cost (about 1 us) shows.
constexpr std::int64_t kSmall = 48 * 48 * 48;

bool own_kernel_is_better(DType dtype, const GemmShape& s) {
  if (dtype == DType::float64) return true;
  if (dtype != DType::float32) return false;
  return s.m <= 2 || s.m * s.n * s.k <= kSmall;
}

/// How a product is cut into parts for threads: along one axis of (batch, rows, columns).
struct Cut {
  std::size_t axis;
  std::int64_t size, parts, unit;

  std::pair<std::int64_t, std::int64_t> part(std::int64_t p) const {
    const std::int64_t units = (size + unit - 1) / unit;
    const std::int64_t begin = units * p / parts * unit;
    return {begin, std::min(size, units * (p + 1) / parts * unit) - begin};
  }
};

/// Columns and rows are cut at multiples of what the kernels' registers hold.
constexpr std::int64_t kColumnUnit = 64, kRowUnit = 32;

Cut cut_of(const GemmShape& s) {
  const std::int64_t most = std::clamp<std::int64_t>(s.batch * s.m * s.n * s.k / kWorthAPart, 1, threads());
  Cut cut{0, s.batch, most, 1};
  if (s.batch < most) {
    // Along columns each part reads its own of B, which is what kernels pack.
    cut = s.n / kColumnUnit >= most ? Cut{2, s.n, most, kColumnUnit} : Cut{1, s.m, most, kRowUnit};
  }
  cut.parts = std::min(cut.parts, (cut.size + cut.unit - 1) / cut.unit);
  if (cut.parts <= 1) cut = {0, s.batch, 1, s.batch};
  return cut;
}

}  // namespace

Decision plan_dot(OpPlanner& op, const ops::DotAttrs& attrs) {
  const TensorType& type = op.result_type();
  const DType dtype = type.dtype;
  if (op[0].type.dtype != dtype || op[1].type.dtype != dtype) return decline("operands of two dtypes");
  if (is_complex(dtype)) return decline("complex");
  const std::size_t rank_a = op[0].type.shape.size(), rank_b = op[1].type.shape.size();
  const Axes batch_a = axes_of(attrs.batch_a, rank_a), batch_b = axes_of(attrs.batch_b, rank_b);
  const Axes inner_a = axes_of(attrs.contract_a, rank_a), inner_b = axes_of(attrs.contract_b, rank_b);
  const Matrices a = as_matrices(op, 0, batch_a, others(batch_a, inner_a, rank_a), inner_a);
  Matrices b = as_matrices(op, 1, batch_b, inner_b, others(batch_b, inner_b, rank_b));
  GemmShape s;
  s.batch = a.batch.size;
  s.m = a.rows.size;
  s.k = a.columns.size;
  s.n = b.columns.size;
  const View out = op.result();
  s.c_m = s.n;
  s.c_batch = s.m * s.n;
  s.a_batch = a.batch.stride;
  s.a_m = a.rows.stride;
  s.a_k = a.columns.stride;
  s.b_batch = b.batch.stride;
  s.b_k = b.rows.stride;
  s.b_n = b.columns.stride;
  const std::string sizes =
      fmt::format("{} {}{}x{}x{}", short_name(dtype), s.batch > 1 ? fmt::format("{}x", s.batch) : "", s.m, s.k, s.n);

  if (own_kernel_is_better(dtype, s)) {
    const bool rows = s.n == 1 || s.b_n == 1;
    const bool dots = (s.k == 1 || s.b_k == 1) && (s.k == 1 || s.a_k == 1);
    // A column is a matrix of rows of one element, and the other way round.
    if (s.n == 1) s.b_n = dots ? s.k + 1 : 1;
    if (!rows && !dots) {
      // Columns of B lie contiguous, but rows of A do not: a copy of B with contiguous rows.
      View permuted = b.view;
      permuted.type.shape = {s.batch, s.k, s.n};
      permuted.strides = {s.b_batch, s.b_k, s.b_n};
      b.view = op.dense(permuted);
      s.b_batch = s.k * s.n;
      s.b_k = s.n;
      s.b_n = 1;
    }
    const std::string text = "gemm " + sizes;
    if (dtype == DType::float32) {
      op.add(std::make_unique<GemmStep<float>>(a.view, b.view, out, s, text), {a.view, b.view}, {out});
    } else {
      op.add(std::make_unique<GemmStep<double>>(a.view, b.view, out, s, text), {a.view, b.view}, {out});
    }
    return {};
  }

  const auto data_type = dnnl_type(dtype);
  if (!data_type) return decline("no kernel for this dtype");
  using Desc = dnnl::memory::desc;
  const auto stride = [](const Merged& m, std::int64_t otherwise) { return m.size == 1 ? otherwise : m.stride; };
  const auto desc_of = [&](const Matrices& x) {
    // Axes of one element must not confuse it about what is contiguous.
    const std::int64_t columns = stride(x.columns, x.rows.stride == 1 && x.rows.size > 1 ? x.rows.size : 1);
    const std::int64_t rows = stride(x.rows, x.columns.size * columns);
    const std::int64_t batch = stride(x.batch, std::max(rows * x.rows.size, columns * x.columns.size));
    return Desc({x.batch.size, x.rows.size, x.columns.size}, *data_type, dnnl::memory::dims{batch, rows, columns});
  };
  if ((s.batch > 1 && (s.a_batch == 0 || s.b_batch == 0))) return decline("a batch that repeats one matrix");
  const Desc c_desc({s.batch, s.m, s.n}, *data_type, dnnl::memory::dims{s.c_batch, s.c_m, 1});
  const Desc a_desc = desc_of(a), b_desc = desc_of(b);
  try {
    const OneThread one;
    const Cut cut = cut_of(s);
    std::vector<DnnlPart> parts;
    std::string kernel;
    for (std::int64_t p = 0; p < cut.parts; ++p) {
      const auto [begin, size] = cut.part(p);
      const auto piece = [&](const Desc& whole, const View& view, std::optional<std::size_t> axis) {
        if (!axis) return std::pair(whole, view);
        auto dims = whole.get_dims();
        const auto strides = whole.get_strides();
        dims[*axis] = size;
        View shifted = view;
        shifted.offset += begin * strides[*axis];
        return std::pair(Desc(dims, *data_type, strides), shifted);
      };
      constexpr std::size_t kBatch = 0, kRows = 1, kColumns = 2;
      using Axis = std::optional<std::size_t>;
      const bool batch = cut.axis == kBatch;
      const auto [a_part, a_at] = piece(a_desc, a.view, batch || cut.axis == kRows ? Axis(cut.axis) : Axis());
      const auto [b_plain, b_from] = piece(b_desc, b.view, batch || cut.axis == kColumns ? Axis(cut.axis) : Axis());
      const auto [c_part, c_at] = piece(c_desc, out, cut.axis);
      const mlx::core::array* weights = op.fixed(b.view);
      const Desc b_any(b_plain.get_dims(), *data_type, dnnl::memory::format_tag::any);
      const dnnl::matmul::primitive_desc pd(dnnl_engine(), a_part, weights ? b_any : b_plain, c_part, attributes());
      const Desc b_part = pd.weights_desc();
      kernel = pd.impl_info_str();
      View b_at = b_from;
      if (weights && b_part != b_plain) {
        b_at = op.constant(reordered(*weights, b_from, b_plain, b_part));
        kernel += ", weights packed";
      }
      std::vector<DnnlArgument> arguments{
          {DNNL_ARG_SRC, a_part, a_at}, {DNNL_ARG_WEIGHTS, b_part, b_at}, {DNNL_ARG_DST, c_part, c_at}};
      add_scratchpad(op, pd.scratchpad_desc(), arguments);
      parts.push_back({dnnl::matmul(pd), std::move(arguments)});
    }
    add_dnnl_step(op, std::move(parts), fmt::format("gemm {} (oneDNN {})", sizes, kernel));
    return {};
  } catch (const dnnl::error& e) {
    return decline(fmt::format("oneDNN: {}", e.what()));
  }
}

}  // namespace reprise::native
