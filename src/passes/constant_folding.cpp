// What depends on constants and small captures alone is computed once, by the lowerings of the mlx backend. Scalars
// become constants, arrays captures.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "backends/mlx/lowering.hpp"
#include "backends/mlx/worker.hpp"
#include "passes/editor.hpp"
#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

namespace mx = mlx::core;

/// Larger arrays are not read or made: what they cost in memory and compile time may be more than a run saves.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;
/// Of all results of one program together.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{16} << 20;

// Families whose cost is that of the arrays they read and write, and which refuse no values. Products, windows, sorts
// and linear algebra may take long: they stay in the program.
constexpr std::array<std::string_view, 11> kFamilies = {"cast",   "unary",      "binary", "compare", "logical", "shape",
                                                        "reduce", "arg_reduce", "select", "slice",   "fill"};

std::int64_t bytes_of(const TensorType& type) {
  return element_count(type.shape).value_or(kMaxBytes + 1) * static_cast<std::int64_t>(size_of(type.dtype));
}

bool is_cheap(const ops::OpDef& op) {
  return std::find(kFamilies.begin(), kFamilies.end(), op.family) != kFamilies.end();
}

// One list's instructions that are computed, and the values that the rest of the list reads of them.
struct Plan {
  List* list = nullptr;
  std::vector<std::size_t> members;
  std::vector<std::size_t> wanted;
};

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  bool run() {
    change_lists(graph_.top, [&](List& list) {
      plan(list);
      return false;
    });
    if (plans_.empty() || !evaluate()) return false;
    for (const Plan& one : plans_) replace(one);
    return true;
  }

 private:
  void plan(List& list) {
    const std::vector<bool> live = live_nodes(graph_, list);
    std::vector<bool> known(list.types.size(), false);  // by value
    std::vector<bool> folds(list.nodes.size(), false);
    const auto is_known = [&](const Ref& ref) {
      if (ref.kind == RefKind::constant) return true;
      if (ref.kind == RefKind::capture) return bytes_of(graph_.type_of(ref, list)) <= kMaxBytes;
      return ref.kind == RefKind::result && known[static_cast<std::size_t>(ref.index)];
    };
    for (std::size_t i = 0; i < list.nodes.size(); ++i) {
      const Node& node = list.nodes[i];
      if (!live[i] || is_driven(node) || !is_cheap(*node.op) || node.count != 1) continue;
      const std::int64_t bytes = bytes_of(list.types[node.first]);
      if (bytes > kMaxBytes || total_ + bytes > kMaxTotalBytes) continue;
      if (!std::all_of(node.operands.begin(), node.operands.end(), is_known)) continue;
      total_ += bytes;
      folds[i] = known[node.first] = true;
    }
    // From back to front: what stays in the program says what it wants of what is computed.
    const std::vector<std::size_t> producer = producers(list);
    std::vector<bool> wanted(list.types.size(), false), needed(list.types.size(), false);
    const auto want = [&](const Ref& ref) {
      if (ref.kind != RefKind::result || !known[static_cast<std::size_t>(ref.index)]) return;
      const auto value = static_cast<std::size_t>(ref.index);
      if (is_repetition(list, list.nodes[producer[value]])) {
        folds[producer[value]] = false;  // it wants its own operand when it is met
      } else {
        wanted[value] = needed[value] = true;
      }
    };
    for (const Ref& ref : list.outputs) want(ref);
    for (std::size_t i = list.nodes.size(); i-- > 0;) {
      const Node& node = list.nodes[i];
      if (!live[i]) continue;
      if (!folds[i]) {
        for (const Ref& ref : node.operands) want(ref);
      }
      if (node.count == 1 && needed[node.first]) {
        for (const Ref& ref : node.operands) {
          if (ref.kind == RefKind::result) needed[static_cast<std::size_t>(ref.index)] = true;
        }
      }
    }
    Plan out{&list, {}, {}};
    for (std::size_t i = 0; i < list.nodes.size(); ++i) {
      const std::size_t value = list.nodes[i].first;
      // A repetition that stays in the program may be computed as well, for those that are computed from it.
      if (live[i] && list.nodes[i].count == 1 && known[value] && needed[value]) out.members.push_back(i);
      if (live[i] && list.nodes[i].count == 1 && known[value] && wanted[value]) out.wanted.push_back(value);
    }
    if (!out.wanted.empty()) plans_.push_back(std::move(out));
  }

  // A broadcast costs nothing where it stands, but a copy as a capture.
  bool is_repetition(const List& list, const Node& node) const {
    return node.op->name == "broadcast" &&
           bytes_of(list.types[node.first]) > bytes_of(graph_.type_of(node.operands[0], list));
  }

  bool evaluate() {
    try {
      mlx_backend::run_on_worker(Device::cpu(), [&](const mlx_backend::WorkerContext& worker) {
        std::vector<mx::array> all;
        for (const Plan& one : plans_) lower(one, worker.stream, all);
        mx::eval(all);
        results_ = std::move(all);
      });
    } catch (const std::exception&) {
      // No memory or no thread: the program runs as it is, and says so itself.
      return false;
    }
    return refused_.empty();
  }

  void lower(const Plan& one, const mx::Stream& stream, std::vector<mx::array>& all) {
    std::unordered_map<std::size_t, mx::array> values;
    const auto value = [&](const Ref& ref) {
      const auto i = static_cast<std::size_t>(ref.index);
      if (ref.kind == RefKind::capture) return *graph_.captures()[i].value;
      if (ref.kind == RefKind::constant) return mlx_backend::scalar_of(graph_.constants()[i]);
      return values.at(i);
    };
    for (const std::size_t i : one.members) {
      const Node& node = one.list->nodes[i];
      std::vector<mx::array> operands;
      for (const Ref& ref : node.operands) operands.push_back(value(ref));
      const TensorType& type = one.list->types[node.first];
      const mlx_backend::LowerContext context{*node.op, operands, std::span(&type, 1), stream, &refused_};
      std::vector<mx::array> made = mlx_backend::lowering_of(*node.op).lower(context, node.attrs.get());
      values.emplace(node.first, std::move(made.at(0)));
    }
    for (const std::size_t wanted : one.wanted) all.push_back(mx::contiguous(values.at(wanted), false, stream));
  }

  void replace(const Plan& one) {
    std::unordered_map<std::size_t, Ref> instead;
    for (const std::size_t value : one.wanted) {
      mx::array array = std::move(results_[next_++]);
      if (array.ndim() == 0) {
        instead.emplace(value, graph_.add_constant(constant_of(array)));
      } else {
        instead.emplace(value, graph_.add_capture(std::move(array)));
      }
    }
    const auto change = [&](Ref& ref) {
      if (ref.kind != RefKind::result) return;
      if (const auto found = instead.find(static_cast<std::size_t>(ref.index)); found != instead.end())
        ref = found->second;
    };
    List& list = *one.list;
    std::deque<Node> kept;
    for (Node& node : list.nodes) {
      if (node.count == 1 && instead.contains(node.first)) continue;
      std::for_each(node.operands.begin(), node.operands.end(), change);
      kept.push_back(std::move(node));
    }
    list.nodes = std::move(kept);
    std::for_each(list.outputs.begin(), list.outputs.end(), change);
  }

  Graph& graph_;
  std::int64_t total_ = 0;
  std::vector<Plan> plans_;
  std::vector<mx::array> results_;
  std::vector<mlx_backend::Check> refused_;  // nothing is folded that registers one
  std::size_t next_ = 0;
};

}  // namespace

bool fold_constants(Graph& graph) { return Folder(graph).run(); }

}  // namespace reprise::pass
