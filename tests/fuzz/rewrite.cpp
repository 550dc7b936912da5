#include "fuzz/rewrite.hpp"

#include <stdexcept>

namespace reprise::fuzz {

FuzzCase Rewriter::rewrite(const FuzzCase& one) {
  original_ = &one;
  out_ = one;
  const TypedProgram types = typed(one).value();
  SubProgram top = walk(one.data.instructions, one.data.outputs, types, types.verified().list(), types.types());
  out_.data.instructions = std::move(top.instructions);
  out_.data.outputs = std::move(top.outputs);
  return std::move(out_);
}

SubProgram Rewriter::walk(const std::vector<Instruction>& instructions, const std::vector<Ref>& outputs,
                          const TypedProgram& typed, const VerifiedList& verified, const TypedList& types) {
  List list;
  List* const outer = std::exchange(list_, &list);
  const bool top = outer == nullptr;
  std::vector<Operand> results;  // what stands for the old results
  const auto now = [&](const Ref& ref) -> Operand {
    if (ref.kind == RefKind::result) return results[static_cast<std::size_t>(ref.index)];
    return {ref, typed.type_of(ref, types)};
  };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const VerifiedInstruction& v = verified.instructions[i];
    Item item{*v.op, instructions[i], {}, {}, top ? v.first_result : kInLoop};
    for (Ref& ref : item.instruction.operands) {
      item.operands.push_back(now(ref));
      ref = item.operands.back().ref;
    }
    for (std::size_t r = 0; r < v.result_count; ++r) item.results.push_back(types.results[v.first_result + r]);
    for (std::size_t s = 0; s < item.instruction.subprograms.size(); ++s) {
      SubProgram& sub = item.instruction.subprograms[s];
      sub = walk(instructions[i].subprograms[s].instructions, instructions[i].subprograms[s].outputs, typed,
                 v.subprograms[s], types.subprograms[i][s]);
    }
    const auto replaced = has(v.op->traits, ops::Trait::control) ? copy(item) : replace(item);
    results.insert(results.end(), replaced.begin(), replaced.end());
  }
  SubProgram out{std::move(list.instructions), {}};
  for (const Ref& ref : outputs) out.outputs.push_back(now(ref).ref);
  list_ = outer;
  return out;
}

std::vector<Operand> Rewriter::copy(const Item& item) {
  std::vector<Operand> out;
  list_->instructions.push_back(item.instruction);
  for (const TensorType& type : item.results) out.push_back({result(list_->results++), type});
  return out;
}

Operand Rewriter::add(std::string_view name, const std::vector<Operand>& operands,
                      const std::vector<std::pair<std::string, ops::Value>>& attrs) {
  const ops::OpDef& op = *ops::find_def(name);
  Instruction instruction{std::string(name), {}, {}, {}};
  std::vector<TensorType> types;
  for (const Operand& o : operands) {
    instruction.operands.push_back(o.ref);
    types.push_back(o.type);
  }
  ops::AttrBox box;
  if (op.attrs) {
    instruction.attrs = ops::attrs_from_named(*op.attrs, attrs).value();
    box = ops::decode_attrs(*op.attrs, instruction.attrs).value();
  }
  const auto results = op.infer({op, types}, box.get()).value();
  list_->instructions.push_back(std::move(instruction));
  return {result(list_->results++), results.at(0)};
}

Operand Rewriter::capture_of(const ArraySpec& spec) {
  out_.data.captures.push_back(make_capture(make_dense(spec)).value());
  out_.capture_layouts.push_back(Layout::dense);
  return {capture(static_cast<std::int64_t>(out_.data.captures.size()) - 1), spec.type};
}

}  // namespace reprise::fuzz
