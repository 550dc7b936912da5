// How instructions of ops are drafted whose operands and attributes must suit each other. An op that no list names gets
// a draft by its row alone: operands that broadcast, attributes by their kind.
#pragma once

#include <span>
#include <string_view>

#include "fuzz/generator.hpp"

namespace reprise::fuzz {

using MakeFn = std::optional<Draft> (*)(const ops::OpDef& op, Generator& g);

struct Maker {
  std::string_view op;
  MakeFn make;
};

std::span<const Maker> shape_makers();     // casts, shapes, slices, reductions, scans, sorting, creation
std::span<const Maker> index_makers();     // take, gather, indexed_*
std::span<const Maker> contract_makers();  // dot, quantized_matmul, conv, windows, fft, linear algebra
std::span<const Maker> fused_makers();     // norms, attention, rotary embedding, the host

}  // namespace reprise::fuzz
