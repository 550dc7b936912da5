#include "program/result_count.hpp"

namespace reprise {

std::optional<std::size_t> count_results(const ops::OpDef* op, std::span<const Attr> attrs, std::size_t operands) {
  if (!op) return std::nullopt;
  if (!op->count_results) return op->results;
  const auto [least, most] = ops::arity(*op);
  if (operands < least || operands > most) return std::nullopt;
  ops::AttrBox box;
  if (op->attrs) {
    auto decoded = ops::decode_attrs(*op->attrs, attrs);
    if (!decoded) return std::nullopt;
    box = *std::move(decoded);
  }
  return op->count_results(box.get(), operands);
}

}  // namespace reprise
