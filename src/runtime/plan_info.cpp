// Plans as text and as JSON.
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "reprise/plan.hpp"

namespace reprise {
namespace {

// "2 steps, of which 1 on MLX"
std::string count_steps(const PlanInfo& plan) {
  std::size_t on_mlx = 0;
  for (const StepInfo& step : plan.steps) on_mlx += step.on_mlx ? 1 : 0;
  return fmt::format("{} step{}{}", plan.steps.size(), plan.steps.size() == 1 ? "" : "s",
                     on_mlx == 0 ? "" : fmt::format(", of which {} on MLX", on_mlx));
}

}  // namespace

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::input: return "input";
    case BufferKind::constant: return "constant";
    case BufferKind::arena: return "arena";
    case BufferKind::array: return "array";
  }
  return "";
}

std::string to_string(const PlanInfo& plan, bool explain) {
  std::string out;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& step = plan.steps[i];
    out += fmt::format("{:4} {}\n", i, step.text);
    if (!explain) continue;
    std::string_view rest = step.why;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      out += fmt::format("       because {}\n", rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  const auto line = [&](std::string_view what, std::size_t bytes, std::string_view note = "") {
    out += fmt::format("{:<10} {:>14} bytes{}{}\n", what, bytes, note.empty() ? "" : ", ", note);
  };
  out += count_steps(plan) + "\n";
  line("inputs", plan.input_bytes);
  line("outputs", plan.output_bytes);
  line("constants", plan.constant_bytes);
  line("arena", plan.arena_bytes, fmt::format("at most {} of them in use at once", plan.live_bytes));
  bool on_mlx = false;
  for (const StepInfo& step : plan.steps) on_mlx = on_mlx || step.on_mlx;
  line("peak", plan.peak_bytes, on_mlx ? "without what MLX needs within its steps" : "");
  return out;
}

std::string to_json(const PlanInfo& plan) {
  using json = nlohmann::ordered_json;
  json steps = json::array();
  for (const StepInfo& s : plan.steps) {
    steps.push_back({{"text", s.text},
                     {"why", s.why},
                     {"on_mlx", s.on_mlx},
                     {"instructions", s.instructions},
                     {"reads", s.reads},
                     {"writes", s.writes}});
  }
  json buffers = json::array();
  for (const BufferInfo& b : plan.buffers) {
    json one{{"kind", name(b.kind)}, {"dtype", name(b.type.dtype)}, {"shape", b.type.shape}, {"bytes", b.bytes}};
    if (b.kind == BufferKind::arena) one["offset"] = b.offset;
    if (b.used) one["first_step"] = b.first_step, one["last_step"] = b.last_step;
    one["is_output"] = b.is_output;
    buffers.push_back(std::move(one));
  }
  const json all{
      {"steps", std::move(steps)},       {"buffers", std::move(buffers)},     {"outputs", plan.outputs},
      {"input_bytes", plan.input_bytes}, {"output_bytes", plan.output_bytes}, {"constant_bytes", plan.constant_bytes},
      {"arena_bytes", plan.arena_bytes}, {"live_bytes", plan.live_bytes},     {"peak_bytes", plan.peak_bytes}};
  return all.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace reprise
