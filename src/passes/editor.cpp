#include "passes/editor.hpp"

#include <mlx/array.h>

#include <cmath>

#include "base/format.hpp"
#include "ops/registry.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::pass {

namespace mx = mlx::core;

Editor::Editor(Graph& graph, List& list)
    : graph_(graph),
      list_(list),
      live_(live_nodes(graph, list)),
      uses_(list.types.size(), 0),
      made_by_(list.types.size(), SIZE_MAX),
      instead_(list.types.size()) {
  const auto count = [&](const Ref& ref) {
    if (ref.kind == RefKind::result) ++uses_[static_cast<std::size_t>(ref.index)];
  };
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    if (!live_[i]) continue;
    for (const Ref& ref : list.nodes[i].operands) count(ref);
  }
  for (const Ref& ref : list.outputs) count(ref);
}

Ref Editor::current(const Ref& ref) const {
  if (ref.kind != RefKind::result) return ref;
  const auto& instead = instead_[static_cast<std::size_t>(ref.index)];
  return instead ? *instead : ref;
}

void Editor::emit(Node node) {
  for (std::size_t r = 0; r < node.count; ++r) made_by_[node.first + r] = list_.nodes.size();
  list_.nodes.push_back(std::move(node));
}

const Node* Editor::producer(const Ref& ref) const {
  if (ref.kind != RefKind::result) return nullptr;
  return &list_.nodes[made_by_[static_cast<std::size_t>(ref.index)]];
}

const Node* Editor::producer(const Ref& ref, std::string_view op) const {
  const Node* node = producer(ref);
  return node && node->op->name == op ? node : nullptr;
}

std::size_t Editor::uses(const Ref& ref) const {
  return ref.kind == RefKind::result ? uses_[static_cast<std::size_t>(ref.index)] : 0;
}

std::optional<Constant> Editor::splat(const Ref& ref) const {
  // Simplification makes one of several broadcasts or reshapes; without it this bounds the search.
  constexpr int kMaxDepth = 4;
  Ref at = ref;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (at.kind == RefKind::constant) return graph_.constants()[static_cast<std::size_t>(at.index)];
    if (at.kind == RefKind::capture) {
      const mx::array& value = *graph_.captures()[static_cast<std::size_t>(at.index)].value;
      if (value.size() == 1) return constant_of(value);
      return {};
    }
    const Node* node = producer(at);
    if (!node || (node->op->name != "broadcast" && node->op->name != "reshape")) return {};
    at = node->operands[0];
  }
  return {};
}

Ref Editor::add(std::string_view op, std::vector<Ref> operands, ops::AttrBox attrs, const Node& like) {
  Node node;
  node.number = like.number;
  become(node, op, std::move(operands), std::move(attrs));
  std::vector<TensorType> types;
  for (const Ref& ref : node.operands) types.push_back(type(ref));
  const ops::InferContext context{*node.op, types};
  auto results = node.op->infer(context, node.attrs.get());
  if (!results)
    throw std::logic_error(fmt::format("a pass adds an instruction ({}): {}", op, results.error().message()));
  node.first = list_.types.size();
  list_.types.push_back(std::move((*results)[0]));
  uses_.push_back(1);
  made_by_.push_back(SIZE_MAX);
  instead_.emplace_back();
  const Ref made = result(static_cast<std::int64_t>(node.first));
  emit(std::move(node));
  changed_ = true;
  return made;
}

void become(Node& node, std::string_view op, std::vector<Ref> operands, ops::AttrBox attrs) {
  node.op = ops::find_def(op);
  node.operands = std::move(operands);
  node.wire = attrs ? ops::encode_attrs(*node.op->attrs, attrs.get()) : std::vector<Attr>{};
  node.attrs = std::move(attrs);
}

Constant constant_of(const mx::array& one) {
  const DType dtype = from_mlx(one.dtype());
  const auto at = [&]<typename T>(T) { return *one.data<T>(); };
  switch (dtype) {
    case DType::bool_: return Constant::of(std::int64_t{at(bool{})}, dtype);
    case DType::uint8: return Constant::of(std::uint64_t{at(std::uint8_t{})}, dtype);
    case DType::uint16: return Constant::of(std::uint64_t{at(std::uint16_t{})}, dtype);
    case DType::uint32: return Constant::of(std::uint64_t{at(std::uint32_t{})}, dtype);
    case DType::uint64: return Constant::of(at(std::uint64_t{}), dtype);
    case DType::int8: return Constant::of(std::int64_t{at(std::int8_t{})}, dtype);
    case DType::int16: return Constant::of(std::int64_t{at(std::int16_t{})}, dtype);
    case DType::int32: return Constant::of(std::int64_t{at(std::int32_t{})}, dtype);
    case DType::int64: return Constant::of(at(std::int64_t{}), dtype);
    case DType::float16: return Constant::of(static_cast<double>(static_cast<float>(at(mx::float16_t{}))), dtype);
    case DType::bfloat16: return Constant::of(static_cast<double>(static_cast<float>(at(mx::bfloat16_t{}))), dtype);
    case DType::float32: return Constant::of(static_cast<double>(at(float{})), dtype);
    case DType::float64: return Constant::of(at(double{}), dtype);
    case DType::complex64: {
      const auto value = at(mx::complex64_t{});
      return Constant::of(std::complex<double>(value.real(), value.imag()), dtype);
    }
  }
  return {};
}

bool is_number(const Constant& c, double value) {
  if (const auto* d = std::get_if<double>(&c.value)) {
    if (is_floating(c.dtype)) return *d == value && std::signbit(*d) == std::signbit(value);
    return *d == value;
  }
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) {
    return static_cast<double>(*i) == value && !std::signbit(value) == (*i >= 0);
  }
  if (const auto* u = std::get_if<std::uint64_t>(&c.value))
    return static_cast<double>(*u) == value && !std::signbit(value);
  return false;
}

std::optional<float> float32_of(const Constant& c) {
  if (c.dtype != DType::float32) return {};
  if (const auto* d = std::get_if<double>(&c.value)) return static_cast<float>(*d);
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) return static_cast<float>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&c.value)) return static_cast<float>(*u);
  return {};
}

}  // namespace reprise::pass
