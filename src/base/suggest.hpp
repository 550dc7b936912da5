// "Did you mean": the known name that is nearest to a mistyped one.
//
//   suggest("sumn", {"sum", "any"});  // "; did you mean 'sum'?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprise {

/// Ready to append to an error; empty when nothing is near (a third of the letters may differ, at most three).
std::string suggest(std::string_view word, std::span<const std::string_view> known);

}  // namespace reprise
