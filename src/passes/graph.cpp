#include "passes/graph.hpp"

#include <mlx/array.h>

#include "base/format.hpp"
#include "program/array_access.hpp"

namespace reprise::pass {
namespace {

List import_list(const std::vector<Instruction>& wire, const VerifiedList& list, const TypedList& types) {
  List out;
  for (std::size_t i = 0; i < list.instructions.size(); ++i) {
    const VerifiedInstruction& from = list.instructions[i];
    Node& node = out.nodes.emplace_back();
    node.op = from.op;
    node.attrs = from.attrs;
    node.wire = wire[i].attrs;
    node.operands = from.operands;
    node.first = from.first_result;
    node.count = from.result_count;
    node.number = from.number;
    for (std::size_t s = 0; s < from.subprograms.size(); ++s) {
      node.lists.push_back(
          import_list(wire[i].subprograms[s].instructions, from.subprograms[s], types.subprograms[i][s]));
    }
  }
  out.outputs = list.outputs;
  out.carries.assign(types.carries.begin(), types.carries.end());
  out.types.assign(types.results.begin(), types.results.end());
  return out;
}

// Numbers results by position.
std::vector<Instruction> export_list(const List& list, std::vector<Ref>& outputs, Numbering& numbering) {
  std::vector<std::int64_t> place(list.types.size(), -1);
  std::int64_t next = 0;
  const auto renumber = [&](Ref ref) {
    if (ref.kind == RefKind::result) ref.index = place[static_cast<std::size_t>(ref.index)];
    return ref;
  };
  std::vector<Instruction> out;
  out.reserve(list.nodes.size());
  for (const Node& node : list.nodes) {
    Instruction& to = out.emplace_back();
    to.op = node.op->name;
    to.attrs = node.wire;
    to.operands.reserve(node.operands.size());
    for (const Ref& ref : node.operands) to.operands.push_back(renumber(ref));
    numbering.numbers.push_back(node.number);
    std::vector<Numbering>& inner = numbering.subprograms.emplace_back();
    for (const List& sub : node.lists) {
      SubProgram& made = to.subprograms.emplace_back();
      made.instructions = export_list(sub, made.outputs, inner.emplace_back());
    }
    for (std::size_t r = 0; r < node.count; ++r) place[node.first + r] = next++;
  }
  for (const Ref& ref : list.outputs) outputs.push_back(renumber(ref));
  return out;
}

template <typename F>
void each_ref(List& list, const F& visit) {
  for (Node& node : list.nodes) {
    for (Ref& ref : node.operands) visit(ref);
    for (List& inner : node.lists) each_ref(inner, visit);
  }
  for (Ref& ref : list.outputs) visit(ref);
}

}  // namespace

Graph::Graph(const TypedProgram& typed) {
  const ProgramData& data = typed.program().data();
  const VerifiedProgram& verified = typed.verified();
  top = import_list(data.instructions, verified.list(), typed.types());
  num_real_outputs_ = data.num_real_outputs;
  calls_host_ = verified.calls_host();
  inputs_.assign(typed.inputs().begin(), typed.inputs().end());
  captures_ = data.captures;
  for (const Capture& capture : captures_) capture_types_.push_back(capture.type());
  constants_ = data.constants;
  for (const Constant& constant : constants_) constant_types_.push_back({constant.dtype, {}});
}

Draft Graph::to_program() const {
  ProgramData data;
  Numbering numbering;
  data.num_inputs = static_cast<std::int32_t>(inputs_.size());
  data.captures = captures_;
  data.constants = constants_;
  data.instructions = export_list(top, data.outputs, numbering);
  data.num_real_outputs = num_real_outputs_;
  return {Program(std::move(data)), std::move(numbering)};
}

const TensorType& Graph::type_of(const Ref& ref, const List& list) const {
  const auto i = static_cast<std::size_t>(ref.index);
  switch (ref.kind) {
    case RefKind::input: return inputs_[i];
    case RefKind::capture: return capture_types_[i];
    case RefKind::constant: return constant_types_[i];
    case RefKind::carry: return list.carries[i];
    case RefKind::result: break;
  }
  return list.types[i];
}

Ref Graph::add_capture(mlx::core::array value) {
  capture_types_.push_back(reprise::type_of(value));
  captures_.push_back({"", std::make_shared<const mlx::core::array>(std::move(value))});
  return capture(static_cast<std::int64_t>(captures_.size() - 1));
}

Ref Graph::add_constant(const Constant& value) {
  constant_types_.push_back({value.dtype, {}});
  constants_.push_back(value);
  return constant(static_cast<std::int64_t>(constants_.size() - 1));
}

bool Graph::drop_unread_tables() {
  std::vector<std::int64_t> captures(captures_.size(), -1), constants(constants_.size(), -1);
  const auto table = [&](const Ref& ref) {
    return ref.kind == RefKind::capture ? &captures : ref.kind == RefKind::constant ? &constants : nullptr;
  };
  each_ref(top, [&](const Ref& ref) {
    if (auto* read = table(ref)) (*read)[static_cast<std::size_t>(ref.index)] = 0;
  });
  const auto keep = [](auto& values, auto& types, std::vector<std::int64_t>& place) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (place[i] < 0) continue;
      place[i] = static_cast<std::int64_t>(kept);
      if (kept != i) {
        values[kept] = std::move(values[i]);
        types[kept] = std::move(types[i]);
      }
      ++kept;
    }
    const bool dropped = kept < values.size();
    values.resize(kept);
    types.resize(kept);
    return dropped;
  };
  const bool fewer_captures = keep(captures_, capture_types_, captures);
  const bool fewer_constants = keep(constants_, constant_types_, constants);
  if (!fewer_captures && !fewer_constants) return false;
  each_ref(top, [&](Ref& ref) {
    if (const auto* place = table(ref)) ref.index = (*place)[static_cast<std::size_t>(ref.index)];
  });
  return true;
}

bool is_driven(const Node& node) {
  return has(node.op->traits, ops::Trait::control) || has(node.op->traits, ops::Trait::host) ||
         has(node.op->traits, ops::Trait::side_effect);
}

std::vector<std::size_t> producers(const List& list) {
  std::vector<std::size_t> out(list.types.size(), SIZE_MAX);
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    for (std::size_t r = 0; r < list.nodes[i].count; ++r) out[list.nodes[i].first + r] = i;
  }
  return out;
}

std::vector<bool> live_nodes(const Graph& graph, const List& list) {
  const std::vector<std::size_t> producer = producers(list);
  std::vector<bool> live(list.nodes.size(), false);
  const auto mark = [&](const Ref& ref) {
    if (ref.kind == RefKind::result) live[producer[static_cast<std::size_t>(ref.index)]] = true;
  };
  std::size_t outputs = list.outputs.size();
  // The tail only keeps host calls alive; without any it changes nothing.
  if (&list == &graph.top && !graph.calls_host()) outputs = graph.num_real_outputs();
  for (std::size_t k = 0; k < outputs; ++k) mark(list.outputs[k]);
  for (std::size_t i = list.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const Ref& ref : list.nodes[i].operands) mark(ref);
  }
  return live;
}

}  // namespace reprise::pass
