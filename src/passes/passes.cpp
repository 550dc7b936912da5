#include "passes/passes.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/format.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace reprise {
namespace pass {
namespace {

struct Pass {
  PassInfo info;
  PassFn run = nullptr;
};

// Patterns are looked for when equal values are one value and numbers are known. What they leave behind goes last.
constexpr std::array kPasses{
    Pass{{"algebraic_simplification", "removes what changes no bit: x * 1, casts to the same dtype, two transposes"},
         simplify_algebra},
    Pass{{"common_subexpressions", "computes equal instructions once"}, merge_common_subexpressions},
    Pass{{"constant_folding", "computes what depends on constants and small captures alone"}, fold_constants},
    Pass{{"norm_fusion", "makes fast_rms_norm and fast_layer_norm of their parts"}, fuse_norms},
    Pass{{"swiglu_fusion", "makes fast_swiglu of its parts"}, fuse_swiglu},
    Pass{{"attention_fusion", "makes fast_sdpa and fast_sdpa_masked of products around a softmax"}, fuse_attention},
    Pass{{"dead_code", "drops what no output needs"}, remove_dead_code},
};

constexpr auto kInfos = [] {
  std::array<PassInfo, kPasses.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kPasses[i].info;
  return out;
}();

constexpr std::string_view kAll = "all";

std::size_t count(const List& list) {
  std::size_t out = list.nodes.size();
  for (const Node& node : list.nodes) {
    for (const List& inner : node.lists) out += count(inner);
  }
  return out;
}

Error broken(const Pass& pass, const Error& error) {
  return make_error(ErrorCode::internal, "pass {} broke the program: {}", pass.info.name, error.message());
}

// The graph as a program that has passed all checks; its outputs have the types that they had.
Result<std::shared_ptr<const TypedProgram>> checked(const Graph& graph, const TypedProgram& before, const Pass& pass,
                                                    std::int64_t max_bytes) {
  const Draft draft = graph.to_program();
  auto verified = verify(draft.program, nullptr, &draft.numbering);
  if (!verified) return broken(pass, verified.error());
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), before.inputs(), max_bytes);
  if (!typed) return broken(pass, typed.error());
  for (std::size_t k = 0; k < graph.num_real_outputs(); ++k) {
    const TensorType was = before.type_of(before.program()->outputs[k]), is = typed->type_of(draft.program->outputs[k]);
    if (was != is) {
      return broken(pass,
                    make_error(ErrorCode::internal, "output {} is {}; it was {}", k, to_string(is), to_string(was)));
    }
  }
  return std::make_shared<const TypedProgram>(*std::move(typed));
}

}  // namespace

Status check_names(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Pass& pass : kPasses) known.push_back(pass.info.name);
  for (const std::string& name : names) {
    if (name == kAll || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string shown = name.substr(0, 64);
    return make_error(ErrorCode::invalid_argument, "pass '{}' is unknown{}; wanted all or some of {}", printable(shown),
                      suggest(shown, known), fmt::join(known, ", "));
  }
  return {};
}

Result<Optimised> optimise(std::shared_ptr<const TypedProgram> typed, const std::vector<std::string>& disabled,
                           std::int64_t max_bytes) {
  using Clock = std::chrono::steady_clock;
  REPRISE_RETURN_IF_ERROR(check_names(disabled));
  Optimised out{std::move(typed), {}};
  const auto is_off = [&](std::string_view name) {
    return std::find(disabled.begin(), disabled.end(), name) != disabled.end();
  };
  if (is_off(kAll)) return out;
  Graph graph(*out.program);
  for (const Pass& pass : kPasses) {
    if (is_off(pass.info.name)) continue;
    const Clock::time_point begin = Clock::now();
    PassRun run{pass.info.name};
    try {
      run.changed = pass.run(graph);
    } catch (const std::exception& e) {
      return broken(pass, Error(ErrorCode::internal, e.what()));
    }
    if (run.changed) {
      REPRISE_ASSIGN(out.program, checked(graph, *out.program, pass, max_bytes));
    }
    run.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    run.instructions = count(graph.top);
    out.runs.push_back(run);
  }
  return out;
}

}  // namespace pass

std::span<const PassInfo> passes() { return pass::kInfos; }

}  // namespace reprise
