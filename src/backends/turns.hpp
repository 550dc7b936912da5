// What ends a loop from outside, on every backend.
#pragma once

#include <cstdint>

#include "base/format.hpp"
#include "reprise/executable.hpp"

namespace reprise {

/// Asked when the condition of a loop holds after `turns` turns.
inline Status may_turn(const RunOptions& options, std::int64_t turns) {
  if (options.cancel && options.cancel->cancelled()) {
    return make_error(ErrorCode::cancelled, "run: cancelled in a loop after {} turns", turns);
  }
  if (options.max_loop_turns > 0 && turns >= options.max_loop_turns) {
    return make_error(ErrorCode::limit, "run: a loop turned {} times, the limit of this run", turns);
  }
  return {};
}

}  // namespace reprise
