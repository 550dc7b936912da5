#include "backends/mlx/block.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "backends/mlx/gpu.hpp"
#include "backends/mlx/lowering.hpp"
#include "backends/turns.hpp"
#include "base/format.hpp"
#include "ops/host/host.hpp"
#include "program/array_access.hpp"

namespace reprise::mlx_backend {

// Splits a list at its loops. Stage s holds the pure instructions that need the first s loops done; the graph of stage
// s runs before loop s.
class BlockBuilder {
 public:
  BlockBuilder(const TypedProgram& typed, const VerifiedList& list, const TypedList& types,
               std::span<const Ref> outputs, const WorkerContext& worker, const Device& device)
      : typed_(typed),
        list_(list),
        types_(types),
        outputs_(outputs),
        worker_(worker),
        device_(device),
        top_level_(&list == &typed.verified().list()),
        num_inputs_(top_level_ ? typed.inputs().size() : types.carries.size()) {}

  Block build() {
    block_.first_fixed_ = num_inputs_ + list_.result_count;
    find_needed();
    assign_stages();
    find_leaving();
    for (std::size_t stage = 0; stage <= driven_.size(); ++stage) {
      add_graph(stage);
      if (stage == driven_.size()) break;
      const VerifiedInstruction& instruction = list_.instructions[driven_[stage]];
      has(instruction.op->traits, ops::Trait::control) ? add_loop(driven_[stage]) : add_call(driven_[stage]);
    }
    for (const Ref& ref : outputs_) block_.outputs_.push_back(slot(ref));
    block_.num_slots_ = block_.first_fixed_ + block_.fixed_.size();
    find_last_uses();
    return std::move(block_);
  }

 private:
  static bool is_driven(const VerifiedInstruction& instruction) {
    return has(instruction.op->traits, ops::Trait::control) || has(instruction.op->traits, ops::Trait::host);
  }

  static std::size_t index_of(const Ref& ref) { return static_cast<std::size_t>(ref.index); }

  // Marks what the outputs depend on; nothing else is run.
  void find_needed() {
    producer_.resize(list_.result_count);
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      const auto& instruction = list_.instructions[i];
      for (std::size_t r = 0; r < instruction.result_count; ++r) producer_[instruction.first_result + r] = i;
    }
    needed_.assign(list_.instructions.size(), false);
    const auto mark = [&](const Ref& ref) {
      if (ref.kind == RefKind::result) needed_[producer_[index_of(ref)]] = true;
    };
    std::for_each(outputs_.begin(), outputs_.end(), mark);
    for (std::size_t i = list_.instructions.size(); i-- > 0;) {
      if (needed_[i]) std::for_each(list_.instructions[i].operands.begin(), list_.instructions[i].operands.end(), mark);
    }
  }

  void assign_stages() {
    stage_.assign(list_.instructions.size(), 0);
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      if (!needed_[i]) continue;
      if (is_driven(list_.instructions[i])) {
        driven_.push_back(i);
        stage_[i] = driven_.size();  // its results exist from here on
        continue;
      }
      for (const Ref& ref : list_.instructions[i].operands) stage_[i] = std::max(stage_[i], stage_of(ref));
    }
  }

  std::size_t stage_of(const Ref& ref) const {
    return ref.kind == RefKind::result ? stage_[producer_[index_of(ref)]] : 0;
  }

  std::uint32_t slot(const Ref& ref) {
    const auto index = static_cast<std::uint32_t>(ref.index);
    switch (ref.kind) {
      case RefKind::input:
      case RefKind::carry: return index;
      case RefKind::result: return static_cast<std::uint32_t>(num_inputs_) + index;
      case RefKind::capture:
      case RefKind::constant: break;
    }
    const auto [it, added] = fixed_slots_.try_emplace({ref.kind, ref.index}, 0u);
    if (added) {
      it->second = static_cast<std::uint32_t>(block_.first_fixed_ + block_.fixed_.size());
      block_.fixed_.push_back(fixed(ref));
    }
    return it->second;
  }

  array fixed(const Ref& ref) const {
    const auto index = static_cast<std::size_t>(ref.index);
    if (ref.kind == RefKind::capture) {
      const array& value = *typed_.program()->captures[index].value;
      return device_.kind == Device::Kind::cpu ? value : dense_on_gpu(value, worker_.stream);
    }
    return scalar_of(typed_.program()->constants[index]);
  }

  void add_graph(std::size_t stage) {
    std::map<std::uint32_t, array> values;  // by slot: placeholders and lowered results
    std::vector<array> inputs;
    Block::Graph graph;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      if (needed_[i] && stage_[i] == stage && !is_driven(list_.instructions[i])) members.push_back(i);
    }
    if (members.empty()) return;

    const auto value = [&](const Ref& ref) -> array {
      if (ref.kind == RefKind::capture || ref.kind == RefKind::constant) return fixed(ref);
      const std::uint32_t at = slot(ref);
      if (const auto found = values.find(at); found != values.end()) return found->second;
      const TensorType type = typed_.type_of(ref, types_);
      array in = placeholder(to_mlx(type.shape), to_mlx(type.dtype));
      values.emplace(at, in);
      inputs.push_back(in);
      graph.inputs.push_back(at);
      return in;
    };
    std::vector<Check> checks;
    for (const std::size_t i : members) {
      const VerifiedInstruction& instruction = list_.instructions[i];
      std::vector<array> operands;
      for (const Ref& ref : instruction.operands) operands.push_back(value(ref));
      std::vector<array> results = lower(i, operands, checks);
      for (std::size_t r = 0; r < results.size(); ++r) {
        values.insert_or_assign(static_cast<std::uint32_t>(num_inputs_ + instruction.first_result + r),
                                std::move(results[r]));
      }
    }

    std::vector<array> outputs;
    for (const std::size_t i : members) {
      const VerifiedInstruction& instruction = list_.instructions[i];
      for (std::size_t r = 0; r < instruction.result_count; ++r) {
        if (!leaves_[instruction.first_result + r]) continue;
        const auto at = static_cast<std::uint32_t>(num_inputs_ + instruction.first_result + r);
        graph.outputs.push_back(at);
        outputs.push_back(values.at(at));
      }
    }
    for (Check& check : checks) {
      outputs.push_back(std::move(check.failed));
      graph.checks.push_back(std::move(check.message));
    }
    graph.function = make_graph_function(Tape::record(inputs, outputs), device_, worker_.stream);
    block_.steps_.emplace_back(std::move(graph));
  }

  // Marks the results that a driven step, another stage or the caller reads.
  void find_leaving() {
    leaves_.assign(list_.result_count, false);
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      if (!needed_[i]) continue;
      const bool driven = is_driven(list_.instructions[i]);
      for (const Ref& ref : list_.instructions[i].operands) {
        if (ref.kind == RefKind::result && (driven || stage_of(ref) != stage_[i])) leaves_[index_of(ref)] = true;
      }
    }
    for (const Ref& ref : outputs_) {
      if (ref.kind == RefKind::result) leaves_[index_of(ref)] = true;
    }
  }

  std::vector<array> lower(std::size_t i, const std::vector<array>& operands, std::vector<Check>& checks) const {
    const VerifiedInstruction& instruction = list_.instructions[i];
    const std::span<const TensorType> wanted(types_.results.data() + instruction.first_result,
                                             instruction.result_count);
    const std::size_t first_check = checks.size();
    const bool gpu = device_.kind != Device::Kind::cpu;
    std::vector<array> results;
    if (gpu) results = empty_results(wanted);
    if (results.empty()) {
      const std::vector<array> settled = gpu ? operands_on_gpu(*instruction.op, operands, worker_.stream) : operands;
      const LowerContext context{*instruction.op, settled, wanted, worker_.stream, &checks};
      results = lowering_of(*instruction.op).lower(context, instruction.attrs.get());
    }
    for (std::size_t c = first_check; c < checks.size(); ++c) {
      checks[c].message =
          fmt::format("run: instruction {} ({}): {}", instruction.number, instruction.op->name, checks[c].message);
    }
    if (results.size() != wanted.size()) {
      throw std::logic_error(fmt::format("instruction {} ({}): the lowering gives {} results, inference {}",
                                         instruction.number, instruction.op->name, results.size(), wanted.size()));
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      const TensorType seen{from_mlx(results[r].dtype()), Shape(results[r].shape().begin(), results[r].shape().end())};
      if (seen != wanted[r]) {
        throw std::logic_error(fmt::format("instruction {} ({}): the lowering gives {}, inference {}",
                                           instruction.number, instruction.op->name, to_string(seen),
                                           to_string(wanted[r])));
      }
    }
    return results;
  }

  void add_loop(std::size_t i) {
    const VerifiedInstruction& instruction = list_.instructions[i];
    const auto sub = [&](std::size_t s) {
      const VerifiedList& list = instruction.subprograms[s];
      return std::make_shared<const Block>(
          Block::build(typed_, list, types_.subprograms[i][s], list.outputs, worker_, device_));
    };
    Block::Loop loop{sub(0), sub(1), {}, static_cast<std::uint32_t>(num_inputs_ + instruction.first_result)};
    for (const Ref& ref : instruction.operands) loop.inputs.push_back(slot(ref));
    block_.steps_.emplace_back(std::move(loop));
  }

  void add_call(std::size_t i) {
    const VerifiedInstruction& instruction = list_.instructions[i];
    const auto& attrs = *static_cast<const ops::RuntimeCallAttrs*>(instruction.attrs.get());
    Block::Call call{attrs.callback,
                     attrs.results,
                     {},
                     static_cast<std::uint32_t>(num_inputs_ + instruction.first_result),
                     instruction.number};
    for (const Ref& ref : instruction.operands) call.inputs.push_back(slot(ref));
    block_.steps_.emplace_back(std::move(call));
  }

  void find_last_uses() {
    std::vector<std::size_t> last(block_.num_slots_, SIZE_MAX);
    for (std::size_t s = 0; s < block_.steps_.size(); ++s) {
      for (const auto at : inputs_of(block_.steps_[s])) last[at] = s;
    }
    for (const auto at : block_.outputs_) last[at] = SIZE_MAX;
    block_.last_uses_.resize(block_.steps_.size());
    for (std::uint32_t at = 0; at < last.size(); ++at) {
      if (last[at] != SIZE_MAX) block_.last_uses_[last[at]].push_back(at);
    }
  }

  static const std::vector<std::uint32_t>& inputs_of(const Block::Step& step) {
    return std::visit([](const auto& s) -> const std::vector<std::uint32_t>& { return s.inputs; }, step);
  }

  const TypedProgram& typed_;
  const VerifiedList& list_;
  const TypedList& types_;
  std::span<const Ref> outputs_;
  const WorkerContext& worker_;
  const Device& device_;
  const bool top_level_;
  const std::size_t num_inputs_;
  Block block_;
  std::vector<std::size_t> producer_;  // by result: its instruction
  std::vector<bool> needed_;
  std::vector<bool> leaves_;  // by result
  std::vector<std::size_t> stage_;
  std::vector<std::size_t> driven_;
  std::map<std::pair<RefKind, std::int64_t>, std::uint32_t> fixed_slots_;
};

Block Block::build(const TypedProgram& typed, const VerifiedList& list, const TypedList& types,
                   std::span<const Ref> outputs, const WorkerContext& worker, const Device& device) {
  return BlockBuilder(typed, list, types, outputs, worker, device).build();
}

bool Block::calls_host() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    const auto* loop = std::get_if<Loop>(&step);
    return std::holds_alternative<Call>(step) || (loop && (loop->cond->calls_host() || loop->body->calls_host()));
  });
}

Status Block::passed(const Graph& graph, const std::vector<array>& results) {
  for (std::size_t c = 0; c < graph.checks.size(); ++c) {
    // A copy: item() is not const.
    array failed = results[graph.outputs.size() + c];
    if (failed.item<bool>()) return Error(ErrorCode::runtime, graph.checks[c]);
  }
  return {};
}

Result<std::vector<array>> Block::run(std::vector<array> inputs, const Driver& driver) const {
  std::vector<std::optional<array>> slots(num_slots_);
  for (std::size_t i = 0; i < inputs.size(); ++i) slots[i] = std::move(inputs[i]);
  inputs.clear();
  for (std::size_t i = 0; i < fixed_.size(); ++i) slots[first_fixed_ + i] = fixed_[i];

  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const CancelToken* cancel = driver.options.cancel;
    if (cancel && cancel->cancelled()) return Error(ErrorCode::cancelled, "run: cancelled");
    const auto gather = [&](const std::vector<std::uint32_t>& from) {
      std::vector<array> out;
      out.reserve(from.size());
      for (const auto at : from) out.push_back(*slots[at]);
      // What nobody reads afterwards is let go, so that the step may take its buffer over.
      for (const auto at : last_uses_[s]) slots[at].reset();
      return out;
    };
    const auto store = [&](std::uint32_t first, std::vector<array>& results) {
      for (std::size_t k = 0; k < results.size(); ++k) slots[first + k] = std::move(results[k]);
    };
    if (const auto* graph = std::get_if<Graph>(&steps_[s])) {
      std::vector<array> operands = gather(graph->inputs);
      std::vector<array> out;
      driver.perform([&] {
        out = graph->function->call(std::move(operands));
        // Lazy arrays must not leave the worker, and values that fail a check must not go on.
        if (driver.hop || !graph->checks.empty()) mx::eval(out);
      });
      REPRISE_RETURN_IF_ERROR(passed(*graph, out));
      for (std::size_t k = 0; k < graph->outputs.size(); ++k) slots[graph->outputs[k]] = std::move(out[k]);
    } else if (const auto* loop = std::get_if<Loop>(&steps_[s])) {
      auto out = turn(*loop, gather(loop->inputs), driver);
      if (!out) return out.error();
      store(loop->first_output, *out);
    } else {
      const Call& call = std::get<Call>(steps_[s]);
      auto out = call_host(call, gather(call.inputs), driver);
      if (!out) return out.error();
      store(call.first_output, *out);
    }
  }
  std::vector<array> outputs;
  outputs.reserve(outputs_.size());
  for (const auto at : outputs_) outputs.push_back(*slots[at]);
  return outputs;
}

Result<std::vector<array>> Block::turn(const Loop& loop, std::vector<array> carry, const Driver& driver) {
  if (driver.hop && !loop.cond->calls_host() && !loop.body->calls_host()) {
    // One hop for the whole loop instead of several a turn.
    std::optional<Result<std::vector<array>>> out;
    driver.perform([&] {
      out = turn(loop, std::move(carry), Driver{driver.options, driver.stream, {}});
      if (out->ok()) mx::eval(**out);
    });
    return *std::move(out);
  }
  const RunOptions& options = driver.options;
  // The condition on a new carry and the carry itself are forced together: one evaluation a turn.
  const auto forced_predicate = [&]() -> Result<bool> {
    auto predicate = loop.cond->run(carry, driver);
    if (!predicate) return predicate.error();
    bool truth = false;
    driver.perform([&] {
      array p = (*predicate)[0];
      if (p.dtype() != mx::bool_) p = mx::not_equal(p, scalar(0, p.dtype()), driver.stream);
      std::vector<array> all = carry;
      all.push_back(p);
      mx::eval(std::move(all));
      truth = p.item<bool>();
    });
    return truth;
  };
  for (std::int64_t turns = 0;; ++turns) {
    REPRISE_ASSIGN(const bool go_on, forced_predicate());
    if (!go_on) return carry;
    REPRISE_RETURN_IF_ERROR(may_turn(options, turns));
    auto next = loop.body->run(std::move(carry), driver);
    if (!next) return next.error();
    carry = *std::move(next);
  }
}

Result<std::vector<array>> Block::call_host(const Call& call, std::vector<array> operands, const Driver& driver) {
  const auto failed = [&](std::string_view what) {
    return make_error(ErrorCode::runtime, "run: instruction {} (runtime_call): runtime_call callback failed: {}",
                      call.instruction, what);
  };
  if (!driver.options.host) {
    return make_error(ErrorCode::runtime,
                      "run: instruction {} (runtime_call): no caller pid in scope: RunOptions::host "
                      "is empty",
                      call.instruction);
  }
  // A view would show the callback elements in another order than the shape says, or ones that are not the operand's.
  driver.perform([&] {
    for (array& x : operands) x = mx::contiguous(x, false, driver.stream);
    mx::eval(operands);
  });
  std::vector<array> replies;
  try {
    auto answer = driver.options.host(HostCall{call.callback, operands, call.results});
    if (!answer) return failed(answer.error().message());
    replies = *std::move(answer);
    // On this thread: the callback may have built lazy arrays here.
    mx::eval(replies);
  } catch (const std::exception& e) {
    return failed(e.what());
  } catch (...) {
    return failed("the callback threw something that is no std::exception");
  }
  if (replies.size() != call.results.size()) {
    return failed(fmt::format("runtime_call reply has {} arrays; wanted {}", replies.size(), call.results.size()));
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const TensorType seen = type_of(replies[i]);
    if (seen != call.results[i]) {
      return failed(
          fmt::format("runtime_call reply {} is {}; wanted {}", i, to_string(seen), to_string(call.results[i])));
    }
  }
  return replies;
}

}  // namespace reprise::mlx_backend
