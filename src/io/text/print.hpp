// The text form of a typed program: the plain form with types behind every result.
//
//   print_program(typed);  // "... %0 = add in0, const0 : f32[8] ..."
#pragma once

#include <string>

#include "program/infer.hpp"

namespace reprise {

/// As print_program(Program), with ` : types` after inputs and results. parse_program takes it and drops the types.
std::string print_program(const TypedProgram& program);

}  // namespace reprise
