// TypedProgram -> TypedProgram: a shorter program with the same results.
//
//   Result<Optimised> made = optimise(typed, options);
//   plan(made->program);
//
// Each pass changes a Graph. After each that changed something the program is verified and inferred again.
// docs/passes.md says what each pass does and what none does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "passes/graph.hpp"
#include "reprise/passes.hpp"

namespace reprise::pass {

/// True if it changed the graph.
using PassFn = bool (*)(Graph& graph);

bool simplify_algebra(Graph& graph);
bool merge_common_subexpressions(Graph& graph);
bool fold_constants(Graph& graph);
bool fuse_norms(Graph& graph);
bool fuse_swiglu(Graph& graph);
bool fuse_attention(Graph& graph);
bool remove_dead_code(Graph& graph);

/// What one pass did.
struct PassRun {
  std::string_view name;
  bool changed = false;
  double milliseconds = 0;       ///< verification and inference included
  std::size_t instructions = 0;  ///< afterwards, those of loops included
};

struct Optimised {
  std::shared_ptr<const TypedProgram> program;
  std::vector<PassRun> runs;
};

/// An error for each name in `names` that is neither a pass nor "all".
Status check_names(const std::vector<std::string>& names);

/// Runs all passes but those that are named. Inputs, outputs and their types stay as they are, and so do the numbers
/// that messages call instructions by. `max_bytes` as for infer().
Result<Optimised> optimise(std::shared_ptr<const TypedProgram> typed, const std::vector<std::string>& disabled,
                           std::int64_t max_bytes = 0);

}  // namespace reprise::pass
