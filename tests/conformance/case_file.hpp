// Files of cases, <family>.cases beside the family's rows: what goes in and what must come out, in the notation of the
// text form.
//
//   case sum {axes = [1]}        # what this is about
//     in f32[2, 3] iota          # 0, 1, 2, ... in row-major order
//     out f32[2] [3, 12]
//   case reverse {axes = [1, 1]}
//     in f32[2, 2] 7             # one value fills the shape
//     says "twice"               # an error whose text has this in it
//   program                      # a whole program; `cap` gives its captures
//     | reprise 1
//     | inputs 1
//     | return in0
//     in c64[] (1, -2)
//     out c64[] (1, -2)
//
// A result must be equal, or within its row's tolerance. A program has a line `near 1e-4` where its results are not
// exact: relative to the greater of 1 and the value wanted. A runtime_call is answered with its
// operands.
#pragma once

#include <mlx/mlx.h>

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise::conformance {

struct Literal {
  using Element = std::variant<double, std::int64_t, std::uint64_t, std::complex<double>>;
  TensorType type;
  std::vector<Element> elements;  ///< in row-major order
  bool filled = false;            ///< one value for all elements
};

/// A dense array; floats are rounded to its dtype, integers must fit.
mlx::core::array to_array(const Literal& literal);

struct Case {
  std::size_t line = 0;
  std::string op;  ///< empty: a program
  std::vector<Attr> attrs;
  std::string text;  ///< of the program
  std::vector<Literal> captures;
  std::vector<Literal> inputs;
  std::vector<Literal> outputs;
  std::string says;  ///< empty: no error is wanted
  std::optional<double> near;
};

/// Errors as the text form's: "line 3, column 7: seen 'ou', wanted ...".
Result<std::vector<Case>> parse_cases(std::string_view text);

}  // namespace reprise::conformance
