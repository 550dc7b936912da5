#include "backends/mlx/block.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "backends/mlx/lowering.hpp"
#include "base/format.hpp"

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
    for (std::size_t stage = 0; stage <= loops_.size(); ++stage) {
      add_graph(stage);
      if (stage < loops_.size()) add_loop(loops_[stage]);
    }
    for (const Ref& ref : outputs_) block_.outputs_.push_back(slot(ref));
    block_.num_slots_ = block_.first_fixed_ + block_.fixed_.size();
    find_last_uses();
    return std::move(block_);
  }

 private:
  static bool is_loop(const VerifiedInstruction& instruction) {
    return has(instruction.op->traits, ops::Trait::control);
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
      if (is_loop(list_.instructions[i])) {
        loops_.push_back(i);
        stage_[i] = loops_.size();  // its results exist from here on
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
    if (ref.kind == RefKind::capture) return *typed_.program()->captures[index].value;
    return scalar_of(typed_.program()->constants[index]);
  }

  void add_graph(std::size_t stage) {
    std::map<std::uint32_t, array> values;  // by slot: placeholders and lowered results
    std::vector<array> inputs;
    Block::Graph graph;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      if (needed_[i] && stage_[i] == stage && !is_loop(list_.instructions[i])) members.push_back(i);
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
    for (const std::size_t i : members) {
      const VerifiedInstruction& instruction = list_.instructions[i];
      std::vector<array> operands;
      for (const Ref& ref : instruction.operands) operands.push_back(value(ref));
      std::vector<array> results = lower(i, operands);
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
    graph.function = make_graph_function(Tape::record(inputs, outputs), device_);
    block_.steps_.emplace_back(std::move(graph));
  }

  // Marks the results that a loop, another stage or the caller reads.
  void find_leaving() {
    leaves_.assign(list_.result_count, false);
    for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
      if (!needed_[i]) continue;
      const bool loop = is_loop(list_.instructions[i]);
      for (const Ref& ref : list_.instructions[i].operands) {
        if (ref.kind == RefKind::result && (loop || stage_of(ref) != stage_[i])) leaves_[index_of(ref)] = true;
      }
    }
    for (const Ref& ref : outputs_) {
      if (ref.kind == RefKind::result) leaves_[index_of(ref)] = true;
    }
  }

  std::vector<array> lower(std::size_t i, const std::vector<array>& operands) const {
    const VerifiedInstruction& instruction = list_.instructions[i];
    const std::span<const TensorType> wanted(types_.results.data() + instruction.first_result,
                                             instruction.result_count);
    const LowerContext context{*instruction.op, operands, wanted, worker_.stream};
    std::vector<array> results = lowering_of(*instruction.op).lower(context, instruction.attrs.get());
    if (results.size() != wanted.size()) {
      throw std::logic_error(fmt::format("instruction {} ({}): the lowering gives {} results, inference {}", i,
                                         instruction.op->name, results.size(), wanted.size()));
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      const TensorType seen{from_mlx(results[r].dtype()), Shape(results[r].shape().begin(), results[r].shape().end())};
      if (seen != wanted[r]) {
        throw std::logic_error(fmt::format("instruction {} ({}): the lowering gives {}, inference {}", i,
                                           instruction.op->name, to_string(seen), to_string(wanted[r])));
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
    if (const auto* graph = std::get_if<Block::Graph>(&step)) return graph->inputs;
    return std::get<Block::Loop>(step).inputs;
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
  std::vector<std::size_t> loops_;
  std::map<std::pair<RefKind, std::int64_t>, std::uint32_t> fixed_slots_;
};

Block Block::build(const TypedProgram& typed, const VerifiedList& list, const TypedList& types,
                   std::span<const Ref> outputs, const WorkerContext& worker, const Device& device) {
  return BlockBuilder(typed, list, types, outputs, worker, device).build();
}

Result<std::vector<array>> Block::run(std::vector<array> inputs, const RunOptions& options, mx::Stream stream) const {
  std::vector<std::optional<array>> slots(num_slots_);
  for (std::size_t i = 0; i < inputs.size(); ++i) slots[i] = std::move(inputs[i]);
  inputs.clear();
  for (std::size_t i = 0; i < fixed_.size(); ++i) slots[first_fixed_ + i] = fixed_[i];

  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (options.cancel && options.cancel->cancelled()) return Error(ErrorCode::cancelled, "run: cancelled");
    const auto gather = [&](const std::vector<std::uint32_t>& from) {
      std::vector<array> out;
      out.reserve(from.size());
      for (const auto at : from) out.push_back(*slots[at]);
      // What nobody reads afterwards is let go, so that the step may take its buffer over.
      for (const auto at : last_uses_[s]) slots[at].reset();
      return out;
    };
    if (const auto* graph = std::get_if<Graph>(&steps_[s])) {
      std::vector<array> out = graph->function->call(gather(graph->inputs));
      for (std::size_t k = 0; k < out.size(); ++k) slots[graph->outputs[k]] = std::move(out[k]);
      continue;
    }
    const Loop& loop = std::get<Loop>(steps_[s]);
    auto out = turn(loop, gather(loop.inputs), options, stream);
    if (!out) return out.error();
    for (std::size_t k = 0; k < out->size(); ++k) {
      slots[loop.first_output + k] = std::move((*out)[k]);
    }
  }
  std::vector<array> outputs;
  outputs.reserve(outputs_.size());
  for (const auto at : outputs_) outputs.push_back(*slots[at]);
  return outputs;
}

Result<std::vector<array>> Block::turn(const Loop& loop, std::vector<array> carry, const RunOptions& options,
                                       mx::Stream stream) {
  // The condition on a new carry and the carry itself are forced together: one evaluation a turn.
  const auto forced_predicate = [&]() -> Result<bool> {
    auto predicate = loop.cond->run(carry, options, stream);
    if (!predicate) return predicate.error();
    array p = (*predicate)[0];
    if (p.dtype() != mx::bool_) p = mx::not_equal(p, scalar(0, p.dtype()), stream);
    std::vector<array> all = carry;
    all.push_back(p);
    mx::eval(std::move(all));
    return p.item<bool>();
  };
  for (std::int64_t turns = 0;; ++turns) {
    REPRISE_ASSIGN(const bool go_on, forced_predicate());
    if (!go_on) return carry;
    if (options.cancel && options.cancel->cancelled()) {
      return make_error(ErrorCode::cancelled, "run: cancelled in a loop after {} turns", turns);
    }
    if (options.max_loop_turns > 0 && turns >= options.max_loop_turns) {
      return make_error(ErrorCode::limit, "run: a loop turned {} times, the limit of this run", turns);
    }
    auto next = loop.body->run(std::move(carry), options, stream);
    if (!next) return next.error();
    carry = *std::move(next);
  }
}

}  // namespace reprise::mlx_backend
