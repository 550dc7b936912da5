#include "ops/op_def.hpp"

#include <algorithm>
#include <cmath>

namespace reprise::ops {

std::string describe(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto d = static_cast<DType>(i);
    if ((set & set_of(d)) != 0) text += (text.empty() ? "" : ", ") + std::string(reprise::name(d));
  }
  return text;
}

std::vector<std::size_t> axes_of(const Ints& axes, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const auto axis : axes) out.push_back(axis_of(axis, rank));
  return out;
}

double epsilon(DType d) {
  switch (d) {
    case DType::float16: return std::ldexp(1.0, -10);
    case DType::bfloat16: return std::ldexp(1.0, -7);
    case DType::float64: return std::ldexp(1.0, -52);
    default: return std::ldexp(1.0, -23);
  }
}

double Tolerance::relative(DType d) const {
  if (!is_floating(d) && !is_complex(d)) return 0;
  if (d == DType::float64 && float32_inside) d = DType::float32;
  const bool half = d == DType::float16 || d == DType::bfloat16;
  return (half ? half_epsilons : epsilons) * epsilon(d);
}

double Tolerance::fixed(DType d) const {
  if (relative(d) == 0) return 0;
  switch (d) {
    case DType::float16: return std::max(absolute, std::ldexp(1.0, -24));
    case DType::bfloat16: return std::max(absolute, std::ldexp(1.0, -133));
    default: return absolute;
  }
}

double Tolerance::allowed(DType d, double magnitude) const {
  return relative(d) * (relative_to_one ? std::max(1.0, magnitude) : magnitude) + fixed(d);
}

std::string_view InferContext::operand_name(std::size_t i) const {
  if (op.operands.empty()) return "operand";
  std::string_view name = op.operand(i).name;
  if (name.ends_with("*")) name.remove_suffix(1);
  if (name.ends_with("...")) name.remove_suffix(3);
  if (name.ends_with("?")) name.remove_suffix(1);
  return name;
}

Status InferContext::require_dtype(std::size_t i, DTypeSet allowed) const {
  if ((allowed & set_of(operands[i].dtype)) != 0) return {};
  return error("{} has dtype {}; wanted {}", operand_name(i), name(operands[i].dtype), describe(allowed));
}

Status InferContext::require_rank(std::size_t i, int rank) const {
  if (operands[i].rank() == rank) return {};
  return error("{} is {}; wanted rank {}", operand_name(i), to_string(operands[i]), rank);
}

Status InferContext::require_min_rank(std::size_t i, int rank) const {
  if (operands[i].rank() >= rank) return {};
  return error("{} is {}; wanted rank {} or more", operand_name(i), to_string(operands[i]), rank);
}

Result<std::size_t> InferContext::axis(std::string_view attribute, std::int64_t value, int rank) const {
  if (value < -rank || value >= rank) {
    return error("attribute '{}' names axis {}; the rank is {}", attribute, value, rank);
  }
  return static_cast<std::size_t>(value < 0 ? value + rank : value);
}

Result<std::vector<std::size_t>> InferContext::axes(std::string_view attribute, const Ints& values, int rank) const {
  std::vector<std::size_t> out;
  for (const auto value : values) {
    REPRISE_ASSIGN(const std::size_t a, axis(attribute, value, rank));
    if (std::find(out.begin(), out.end(), a) != out.end()) {
      return error("attribute '{}' names axis {} twice", attribute, value);
    }
    out.push_back(a);
  }
  return out;
}

Result<Shape> InferContext::broadcast() const {
  Shape out;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].shape;
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (std::size_t k = 0; k < shape.size(); ++k) {
      std::int64_t& dim = out[out.size() - 1 - k];
      const std::int64_t mine = shape[shape.size() - 1 - k];
      if (mine == dim || mine == 1) continue;
      if (dim != 1) {
        return error("{} is {}, which does not broadcast with {}: axis {} has {}, wanted {} or 1", operand_name(i),
                     to_string(operands[i]), to_string(out), static_cast<std::int64_t>(shape.size() - 1 - k), mine,
                     dim);
      }
      dim = mine;
    }
  }
  return out;
}

Arity arity(const OpDef& op) {
  Arity out;
  for (const auto& [name, shape, dtypes] : op.operands) {
    if (name.ends_with("...*")) {
      out.max = SIZE_MAX;
    } else if (name.ends_with("...")) {
      ++out.min;
      out.max = SIZE_MAX;
    } else if (name.ends_with("?")) {
      if (out.max != SIZE_MAX) ++out.max;
    } else {
      ++out.min;
      if (out.max != SIZE_MAX) ++out.max;
    }
  }
  return out;
}

}  // namespace reprise::ops
