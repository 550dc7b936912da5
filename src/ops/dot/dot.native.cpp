#include "ops/dot/dot.native.hpp"

#include <algorithm>
#include <numeric>

#include "backends/native/kernels/gemm.hpp"
#include "backends/native/onednn.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

using Axes = std::vector<std::size_t>;

Axes from_front(const ops::Ints& axes, std::size_t rank) {
  Axes out;
  for (const auto a : axes) out.push_back(axis_of(a, rank));
  return out;
}

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

}  // namespace

Decision plan_dot(OpPlanner& op, const ops::DotAttrs& attrs) {
  const TensorType& type = op.result_type();
  const DType dtype = type.dtype;
  if (op[0].type.dtype != dtype || op[1].type.dtype != dtype) return decline("operands of two dtypes");
  if (is_complex(dtype)) return decline("complex");
  const std::size_t rank_a = op[0].type.shape.size(), rank_b = op[1].type.shape.size();
  const Axes batch_a = from_front(attrs.batch_a, rank_a), batch_b = from_front(attrs.batch_b, rank_b);
  const Axes inner_a = from_front(attrs.contract_a, rank_a), inner_b = from_front(attrs.contract_b, rank_b);
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
  const Desc a_desc = desc_of(a), b_plain = desc_of(b);
  const Desc c_desc({s.batch, s.m, s.n}, *data_type, dnnl::memory::dims{s.c_batch, s.c_m, 1});
  const mlx::core::array* weights = op.fixed(b.view);
  try {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const Desc b_any({s.batch, s.k, s.n}, *data_type, dnnl::memory::format_tag::any);
    const dnnl::matmul::primitive_desc pd(dnnl_engine(), a_desc, weights ? b_any : b_plain, c_desc, attr);
    const Desc b_desc = pd.weights_desc();
    View b_view = b.view;
    std::string packed;
    if (weights && b_desc != b_plain) {
      b_view = op.constant(reordered(*weights, b.view, b_plain, b_desc));
      packed = ", weights packed";
    }
    std::vector<DnnlArgument> arguments{
        {DNNL_ARG_SRC, a_desc, a.view}, {DNNL_ARG_WEIGHTS, b_desc, b_view}, {DNNL_ARG_DST, c_desc, out}};
    View scratch = out;
    if (const auto bytes = static_cast<std::int64_t>(pd.scratchpad_desc().get_size()); bytes > 0) {
      scratch = op.scratch({DType::uint8, {bytes}});
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch});
    }
    op.add(make_dnnl_step(dnnl::matmul(pd), std::move(arguments),
                          fmt::format("gemm {} (oneDNN {}{})", sizes, pd.impl_info_str(), packed)),
           {a.view, b_view}, {out, scratch});
    return {};
  } catch (const dnnl::error& e) {
    return decline(fmt::format("oneDNN: {}", e.what()));
  }
}

}  // namespace reprise::native
