#include "ops/linalg/linalg.hpp"

#include <algorithm>

namespace reprise::ops {
namespace {

struct Matrix {
  Shape batch;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

Result<Matrix> matrix(const InferContext& context) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 2));
  const Shape& s = context[0].shape;
  return Matrix{Shape(s.begin(), s.end() - 2), s[s.size() - 2], s[s.size() - 1]};
}

Result<Matrix> square(const InferContext& context) {
  REPRISE_ASSIGN(Matrix m, matrix(context));
  if (m.rows != m.columns) return context.error("a is {}; wanted square matrices", to_string(context[0]));
  return m;
}

TensorType with(DType dtype, Shape batch, std::initializer_list<std::int64_t> rest) {
  batch.insert(batch.end(), rest);
  return {dtype, std::move(batch)};
}

DType real_of(DType d) { return is_complex(d) ? DType::float32 : d; }

}  // namespace

Result<Types> infer_cholesky(const InferContext& context) {
  if (auto m = square(context); !m) return m.error();
  return Types{context[0]};
}

Result<Types> infer_solve(const InferContext& context) {
  REPRISE_ASSIGN(const Matrix m, square(context));
  const TensorType& b = context[1];
  const Shape as_vectors = with(b.dtype, m.batch, {m.rows}).shape;
  const bool matrices = b.shape.size() == m.batch.size() + 2 && Shape(b.shape.begin(), b.shape.end() - 1) == as_vectors;
  if (b.shape != as_vectors && !matrices) {
    return context.error("b is {}; a is {}, so wanted {} or the same with one more axis", to_string(b),
                         to_string(context[0]), to_string(as_vectors));
  }
  return Types{{promote(context[0].dtype, b.dtype), b.shape}};
}

Result<Types> infer_solve_triangular(const InferContext& context, const TriangularAttrs&) {
  return infer_solve(context);
}

Result<Types> infer_qr(const InferContext& context) {
  REPRISE_ASSIGN(const Matrix m, matrix(context));
  const std::int64_t k = std::min(m.rows, m.columns);
  const DType d = context[0].dtype;
  return Types{with(d, m.batch, {m.rows, k}), with(d, m.batch, {k, m.columns})};
}

Result<Types> infer_eigh(const InferContext& context) {
  REPRISE_ASSIGN(const Matrix m, square(context));
  return Types{with(real_of(context[0].dtype), m.batch, {m.rows}), context[0]};
}

Result<Types> infer_svd(const InferContext& context) {
  REPRISE_ASSIGN(const Matrix m, matrix(context));
  const DType d = context[0].dtype;
  return Types{with(d, m.batch, {m.rows, m.rows}), with(real_of(d), m.batch, {std::min(m.rows, m.columns)}),
               with(d, m.batch, {m.columns, m.columns})};
}

Result<Types> infer_lu(const InferContext& context) {
  REPRISE_ASSIGN(const Matrix m, matrix(context));
  const std::int64_t k = std::min(m.rows, m.columns);
  const DType d = context[0].dtype;
  return Types{with(DType::uint32, m.batch, {m.rows}), with(d, m.batch, {m.rows, k}), with(d, m.batch, {k, m.columns})};
}

}  // namespace reprise::ops
