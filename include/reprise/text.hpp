// Programs as text, and program files.
//
//   Result<Program> program = parse_program(R"(
//     reprise 1
//     inputs 1
//     const0 = 1.5 : f32
//     %0 = add in0, const0
//     %1 = tanh %0
//     return %1
//   )");
//   std::cout << print_program(*program);
//   write_program("model.rp", *program);  // captured arrays go to model.safetensors
//
// The form, one line an instruction; `#` starts a comment:
//
//   reprise 1                                  the version of the form
//   inputs 2                                   how many inputs the program takes
//   cap0 = "blk.0.attn_q.weight" : u32[576, 72]    captures in order: key, dtype and shape; "" has no name
//   const0 = 1.5 : f32                         constants in order: 3, 3u (unsigned), 1.5, inf, -inf, nan, true,
//   const1 = (1.0, -2.0) : c64                 bits(0x7ff8000000000001) for any binary64, (re, im)
//   %0 = add in0, const0                       results are numbered by array, in order
//   %1 = sum %0 {axes = [1], keep_axes = false} : f32[8]    attributes by name; types are annotations, never needed
//   %2, %3 = while in0, %1 {                   as many results as the op has
//     cond {
//       %0 = less carry0, const0               each list numbers its own results
//       return %0
//     }
//     body {
//       return carry1, carry0
//     }
//   }
//   return %2                                  the outputs
//   keep %3                                    values that are only kept alive; may be left out
//
// What has no such form is still written, so that every program prints and parses back to an equal one, faulty ones
// too: attributes that do not fit their op as `attrs(1, float32, b"\x00")`, odd names in quotes, sub-programs where
// none belong as `sub { ... }`, negative indices as `in-1`, a num_real_outputs out of range as a line `num_real_outputs
// -3`. The one exception: lists nested deeper than 64 are cut when printed and refused when parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reprise/program.hpp"

namespace reprise {

/// The program as text. Captured arrays are named and described, not written.
std::string print_program(const Program& program);

/// Reads the text form. `captures` are the arrays of cap0, cap1, ...: as many as the text declares, with the declared
/// dtype and shape, and either unnamed or with the declared name. The result need not keep the program contract;
/// compile judges that. Errors: `parse` as "line 7, column 12: seen 'axs', wanted an attribute of sum: keep_axes, axes"
/// (columns count characters), `invalid_argument` for captures that do not fit.
Result<Program> parse_program(std::string_view text, std::span<const Capture> captures = {});

/// Reads NAME.rp, and its captures from NAME.safetensors beside it if it declares any. Errors name the file:
/// `not_found`, `io`, `parse`, `bad_file` for a safetensors file that is damaged or does not have what the text
/// declares.
Result<Program> read_program(const std::string& path);

/// Writes NAME.rp, and NAME.safetensors beside it if the program has captures. Each file is complete or what it was
/// before. A capture's key is its name; one without a usable name of its own (empty, not UTF-8, "__metadata__", taken
/// by an earlier capture) gets "cap0", "cap1", ..., by its index, and reads back with the name that it had.
Status write_program(const std::string& path, const Program& program);

}  // namespace reprise
