// Formatted errors: `return make_error(ErrorCode::verify, "operand {} is {}", i, seen);`
#pragma once

#include <fmt/format.h>

#include "reprise/status.hpp"

namespace reprise {

template <typename... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace reprise
