// Parts of a program as programs of their own.
#pragma once

#include <functional>
#include <map>

#include "reprise/program.hpp"

namespace reprise::native {

/// Numbers the references of some instructions anew, as a program of their own needs them: captures and constants by
/// what is used, others as `outer` says. What is inside loops keeps its own results and carries.
class Extract {
 public:
  Extract(const ProgramData& whole, std::function<Ref(const Ref&)> outer) : whole_(whole), outer_(std::move(outer)) {}

  Instruction instruction(const Instruction& from, bool top) {
    Instruction out = from;
    for (Ref& ref : out.operands) ref = renumber(ref, top);
    for (SubProgram& sub : out.subprograms) {
      for (Instruction& inner : sub.instructions) inner = instruction(inner, false);
      for (Ref& ref : sub.outputs) ref = renumber(ref, false);
    }
    return out;
  }

  Ref reference(const Ref& ref) { return renumber(ref, true); }

  ProgramData data;

 private:
  Ref renumber(const Ref& ref, bool top) {
    const auto i = static_cast<std::size_t>(ref.index);
    if (ref.kind == RefKind::capture) {
      const auto [it, added] = captures_.try_emplace(ref.index, static_cast<std::int64_t>(data.captures.size()));
      if (added) data.captures.push_back(whole_.captures[i]);
      return capture(it->second);
    }
    if (ref.kind == RefKind::constant) {
      const auto [it, added] = constants_.try_emplace(ref.index, static_cast<std::int64_t>(data.constants.size()));
      if (added) data.constants.push_back(whole_.constants[i]);
      return constant(it->second);
    }
    return top ? outer_(ref) : ref;
  }

  const ProgramData& whole_;
  std::function<Ref(const Ref&)> outer_;
  std::map<std::int64_t, std::int64_t> captures_, constants_;
};

}  // namespace reprise::native
