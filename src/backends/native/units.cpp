// Which instructions become one step, and in which order.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "backends/native/builder.hpp"
#include "backends/native/elementwise.hpp"
#include "ops/reduce/reduce.hpp"

namespace reprise::native {
namespace {

/// Larger groups gain nothing and outgrow the first-level cache.
constexpr std::size_t kMaxGroup = 64;

}  // namespace

void PlanBuilder::find_needed() {
  needed_.assign(list_.instructions.size(), false);
  const auto mark = [&](const Ref& ref) {
    if (ref.kind == RefKind::result) needed_[producer_of(ref)] = true;
  };
  for (const Ref& ref : typed_->verified().live_outputs()) mark(ref);
  const auto real = static_cast<std::size_t>(typed_->program()->num_real_outputs);
  for (std::size_t i = 0; i < real; ++i) values_[value_of(list_.outputs[i])].is_output = true;
  for (std::size_t i = list_.instructions.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    for (const Ref& ref : instruction(i).operands) mark(ref);
  }
  for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
    if (!needed_[i]) continue;
    for (const Ref& ref : instruction(i).operands) ++values_[value_of(ref)].uses;
  }
}

bool PlanBuilder::is_elementwise(std::size_t i) const {
  const VerifiedInstruction& one = instruction(i);
  if (one.result_count != 1) return false;
  const TensorType& type = values_[first_result(i)].type;
  if (is_empty(type)) return false;
  std::vector<TensorType> operands;
  for (const Ref& ref : one.operands) operands.push_back(values_[value_of(ref)].type);
  return !why_not_elementwise(*one.op, one.attrs.get(), operands, type);
}

// divide(e, sum(e)), e = exp(subtract(x, reduce_max(x))), over the last axis of float32, where nothing else wants the
// values in between.
std::vector<std::size_t> PlanBuilder::softmax_ending_at(std::size_t i) const {
  // The instruction of this name that makes operand k of instruction `of`, and whose result is used `uses` times.
  const auto maker = [&](std::size_t of, std::size_t k, std::string_view name,
                         std::uint32_t uses) -> std::optional<std::size_t> {
    const Ref& ref = instruction(of).operands[k];
    if (ref.kind != RefKind::result) return std::nullopt;
    const Value& value = values_[value_of(ref)];
    const std::size_t p = producer_of(ref);
    if (instruction(p).op->name != name || value.uses != uses || value.is_output) return std::nullopt;
    return p;
  };
  const TensorType& type = values_[first_result(i)].type;
  if (instruction(i).op->name != "divide" || type.dtype != DType::float32 || type.rank() == 0 || is_empty(type)) {
    return {};
  }
  const auto exp = maker(i, 0, "exp", 2), sum = maker(i, 1, "sum", 1);
  if (!exp || !sum || instruction(*sum).operands[0] != instruction(i).operands[0]) return {};
  const auto difference = maker(*exp, 0, "subtract", 1);
  if (!difference) return {};
  const auto most = maker(*difference, 1, "reduce_max", 1);
  if (!most || instruction(*most).operands[0] != instruction(*difference).operands[0]) return {};
  if (values_[value_of(instruction(*most).operands[0])].type != type) return {};
  for (const std::size_t r : {*most, *sum}) {
    const auto& attrs = *static_cast<const ops::ReduceAttrs*>(instruction(r).attrs.get());
    if (!attrs.keep_axes || attrs.axes.size() != 1) return {};
    if (axis_of(attrs.axes[0], type.shape.size()) + 1 != type.shape.size()) return {};
  }
  return {*most, *difference, *exp, *sum, i};
}

// A level counts how often the way to an instruction leaves a group; groups of one level cannot wait for each other.
void PlanBuilder::find_units() {
  const std::size_t n = list_.instructions.size();
  std::vector<std::uint32_t> level(n, 0);
  std::vector<bool> elementwise(n);
  std::vector<std::size_t> leader(n);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  std::vector<std::size_t> count(n, 1);
  const auto find = [&](std::size_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  std::vector<bool> in_softmax(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!needed_[i]) continue;
    const auto members = softmax_ending_at(i);
    for (const std::size_t m : members) {
      leader[m] = members[0];
      in_softmax[m] = true;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!needed_[i]) continue;
    elementwise[i] = !in_softmax[i] && is_elementwise(i);
    const auto same_shape = [&](std::size_t p) {
      return values_[first_result(p)].type.shape == values_[first_result(i)].type.shape;
    };
    for (const Ref& ref : instruction(i).operands) {
      if (ref.kind != RefKind::result) continue;
      const std::size_t p = producer_of(ref);
      const bool joins = elementwise[i] && elementwise[p] && same_shape(p);
      level[i] = std::max(level[i], level[p] + (elementwise[p] && !joins ? 1 : 0));
    }
    if (!elementwise[i]) continue;
    std::set<std::size_t> joined;  // leaders
    std::size_t together = 1;
    for (const Ref& ref : instruction(i).operands) {
      if (ref.kind != RefKind::result) continue;
      const std::size_t p = producer_of(ref);
      if (elementwise[p] && same_shape(p) && level[p] == level[i] && joined.insert(find(p)).second) {
        together += count[find(p)];
      }
    }
    if (together > kMaxGroup) {
      // All or none: with one of two groups joined, each could come to wait for the other.
      ++level[i];
      continue;
    }
    for (const std::size_t a : joined) leader[a] = i;
    count[i] = together;
  }
  unit_of_.assign(n, 0);
  std::map<std::size_t, std::size_t> unit_of_leader;
  for (std::size_t i = 0; i < n; ++i) {
    if (!needed_[i]) continue;
    const auto [it, added] = unit_of_leader.try_emplace(find(i), units_.size());
    if (added) units_.push_back({{}, elementwise[i], in_softmax[i]});
    unit_of_[i] = it->second;
    units_[it->second].members.push_back(i);
  }
}

std::vector<std::size_t> PlanBuilder::order_of_units() const {
  std::vector<std::vector<std::size_t>> followers(units_.size());
  std::vector<std::size_t> waits(units_.size(), 0);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const std::size_t i : units_[u].members) {
      for (const Ref& ref : instruction(i).operands) {
        if (ref.kind != RefKind::result) continue;
        const std::size_t p = unit_of_[producer_of(ref)];
        if (p == u) continue;
        followers[p].push_back(u);
        ++waits[u];
      }
    }
  }
  using Entry = std::pair<std::size_t, std::size_t>;  // last member, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (waits[u] == 0) ready.emplace(units_[u].members.back(), u);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t u = ready.top().second;
    ready.pop();
    order.push_back(u);
    for (const std::size_t f : followers[u]) {
      if (--waits[f] == 0) ready.emplace(units_[f].members.back(), f);
    }
  }
  return order;
}

}  // namespace reprise::native
