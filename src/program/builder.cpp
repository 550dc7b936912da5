#include "reprise/builder.hpp"

#include <mlx/array.h>

#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "base/format.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "ops/registry.hpp"
#include "program/result_count.hpp"
#include "program/verify.hpp"

namespace reprise {
namespace detail {

/// Everything that a builder knows. Values hold it too, so that operators find it and none of them can dangle.
struct BuilderState {
  /// An instruction list that is being written.
  struct List {
    std::uint32_t id = 0;
    std::string path;  // "instruction 2 (while) body ", for errors
    std::vector<Instruction> instructions;
    std::int64_t results = 0;
  };

  ProgramData data;                // tables only
  std::vector<List> open{List{}};  // the lists around the current place, innermost last
  std::uint32_t lists = 1;         // how many there have been
  std::optional<Error> error;      // the first
  std::map<std::tuple<DType, std::size_t, std::uint64_t, std::uint64_t>, std::int64_t> constants;

  List& list() { return open.back(); }

  /// A value may be used in its own list; captures and constants, which belong to none, everywhere.
  Result<Ref> use(const Value& value) const {
    if (!value.state_) return make_error(ErrorCode::invalid_argument, "an empty value");
    const std::string name = to_string(value.ref_);
    if (value.state_.get() != this) {
      return make_error(ErrorCode::invalid_argument, "value {} of another builder", name);
    }
    if (value.ref_.kind == RefKind::capture || value.ref_.kind == RefKind::constant || value.list_ == open.back().id) {
      return value.ref_;
    }
    for (const List& outer : open) {
      if (outer.id != value.list_) continue;
      return make_error(ErrorCode::invalid_argument,
                        "value {} of the outer list used inside a loop; pass it as an operand", name);
    }
    return make_error(ErrorCode::invalid_argument, "value {} of a loop's list used outside it", name);
  }

  void fail(const Error& e, std::string_view what) {
    if (!error) {
      error = e.with_context(
          fmt::format("{}instruction {} ({})", list().path, list().instructions.size(), printable(what)));
    }
  }
  void fail_at(std::string_view where, std::string_view text) {
    if (!error) error = make_error(ErrorCode::invalid_argument, "{}{}: {}", list().path, where, text);
  }
};

}  // namespace detail

namespace {

Result<std::vector<Attr>> encode(const ops::OpDef& op, const Builder::Attrs& attrs) {
  if (!op.attrs) {
    if (attrs.empty()) return std::vector<Attr>{};
    return make_error(ErrorCode::invalid_argument, "attribute '{}' given; wanted none", printable(attrs[0].name));
  }
  std::vector<std::pair<std::string, ops::Value>> named;
  named.reserve(attrs.size());
  for (const NamedAttr& attr : attrs) named.emplace_back(attr.name, attr.value.get());
  return ops::attrs_from_named(*op.attrs, named);
}

}  // namespace

Builder::Builder() : state_(std::make_shared<detail::BuilderState>()) {}

Value Builder::input() {
  if (state_->open.size() > 1) {
    state_->fail_at("input", "taken inside a loop; wanted outside, and passed to the loop as an operand");
    return {state_, state_->open.front().id, reprise::input(0)};
  }
  return {state_, state_->list().id, reprise::input(state_->data.num_inputs++)};
}

Value Builder::capture(const mlx::core::array& array, std::string name) {
  auto& captures = state_->data.captures;
  auto made = make_capture(array, std::move(name));
  if (made) {
    captures.push_back(*std::move(made));
  } else {
    state_->fail_at("capture", made.error().message());
    captures.emplace_back();
  }
  return {state_, 0, reprise::capture(static_cast<std::int64_t>(captures.size()) - 1)};
}

Value Builder::constant(const Constant& constant) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  if (const auto* c = std::get_if<std::complex<double>>(&constant.value)) {
    first = std::bit_cast<std::uint64_t>(c->real());
    second = std::bit_cast<std::uint64_t>(c->imag());
  } else if (const auto* d = std::get_if<double>(&constant.value)) {
    first = std::bit_cast<std::uint64_t>(*d);
  } else if (const auto* i = std::get_if<std::int64_t>(&constant.value)) {
    first = std::bit_cast<std::uint64_t>(*i);
  } else {
    first = std::get<std::uint64_t>(constant.value);
  }
  auto& table = state_->data.constants;
  const auto [it, is_new] = state_->constants.try_emplace({constant.dtype, constant.value.index(), first, second},
                                                          static_cast<std::int64_t>(table.size()));
  if (is_new) table.push_back(constant);
  return {state_, 0, reprise::constant(it->second)};
}

Value Builder::op(std::string_view name, const Values& operands, const Attrs& attrs) {
  const std::size_t index = state_->list().instructions.size();
  Values results = ops(name, operands, attrs);
  if (results.size() == 1) return results[0];
  state_->fail_at(fmt::format("instruction {} ({})", index, printable(name)),
                  fmt::format("has {} results; op() is for one, ops() gives them all", results.size()));
  return results.empty() ? Value(state_, state_->list().id, result(0)) : results[0];
}

Builder::Values Builder::ops(std::string_view name, const Values& operands, const Attrs& attrs) {
  auto& state = *state_;
  Instruction instruction;
  instruction.op = std::string(name);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto ref = state.use(operands[i]);
    if (!ref) state.fail(ref.error().with_context(fmt::format("operand {}", i)), name);
    instruction.operands.push_back(ref ? *ref : reprise::input(0));
  }
  const ops::OpDef* def = ops::find_def(name);
  if (!def) {
    state.fail(make_error(ErrorCode::invalid_argument, "unknown op \"{}\"{}", printable(name), ops::nearest_name(name)),
               name);
  } else if (has(def->traits, ops::Trait::control)) {
    state.fail(make_error(ErrorCode::invalid_argument, "has sub-programs; wanted {}_loop()", name), name);
  } else if (auto encoded = encode(*def, attrs)) {
    instruction.attrs = *std::move(encoded);
  } else {
    state.fail(encoded.error(), name);
  }
  const std::size_t count = count_results(def, instruction.attrs, operands.size()).value_or(1);
  Values out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({state_, state.list().id, result(state.list().results++)});
  state.list().instructions.push_back(std::move(instruction));
  return out;
}

Builder::Values Builder::while_loop(const Values& initial, const CondFn& cond, const BodyFn& body) {
  auto& state = *state_;
  Instruction loop;
  loop.op = "while";
  for (std::size_t i = 0; i < initial.size(); ++i) {
    auto ref = state.use(initial[i]);
    if (!ref) state.fail(ref.error().with_context(fmt::format("operand {}", i)), loop.op);
    loop.operands.push_back(ref ? *ref : reprise::input(0));
  }

  // A callback that throws must not leave its list open.
  struct OpenList {
    detail::BuilderState& state;
    ~OpenList() { state.open.pop_back(); }
  };
  const auto write = [&](std::string_view which, const auto& callback) {
    std::string path =
        fmt::format("{}instruction {} (while) {} ", state.list().path, state.list().instructions.size(), which);
    state.open.push_back({state.lists++, std::move(path), {}, 0});
    OpenList closes{state};
    Values slots;
    for (std::size_t i = 0; i < initial.size(); ++i) {
      slots.push_back({state_, state.list().id, carry(static_cast<std::int64_t>(i))});
    }
    SubProgram sub;
    if (!callback) {
      state.fail_at("", "no function given");
    } else {
      const Values outputs = callback(*this, std::span<const Value>(slots));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        auto ref = state.use(outputs[i]);
        if (!ref) state.fail_at(fmt::format("output {}", i), ref.error().message());
        sub.outputs.push_back(ref ? *ref : carry(0));
      }
    }
    sub.instructions = std::move(state.list().instructions);
    loop.subprograms.push_back(std::move(sub));
  };
  const BodyFn cond_list =
      cond ? BodyFn([&](Builder& b, std::span<const Value> slots) { return Values{cond(b, slots)}; }) : BodyFn();
  write("cond", cond_list);
  write("body", body);

  Values out;
  for (std::size_t i = 0; i < initial.size(); ++i) {
    out.push_back({state_, state.list().id, result(state.list().results++)});
  }
  state.list().instructions.push_back(std::move(loop));
  return out;
}

const Error* Builder::error() const { return state_->error ? &*state_->error : nullptr; }

Result<Program> Builder::build(const Values& outputs, const Values& keep) {
  auto& state = *state_;
  if (state.open.size() > 1) return make_error(ErrorCode::invalid_argument, "build() called inside a loop");
  ProgramData data = state.data;
  data.instructions = state.list().instructions;
  for (const auto* list : {&outputs, &keep}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto ref = state.use((*list)[i]);
      if (!ref) state.fail_at(fmt::format("{} {}", list == &keep ? "keep" : "output", i), ref.error().message());
      data.outputs.push_back(ref ? *ref : reprise::input(0));
    }
  }
  data.num_real_outputs = static_cast<std::int32_t>(outputs.size());
  if (state.error) return state.error->with_context("builder");
  Program program(std::move(data));
  auto verified = verify(program);
  if (!verified) return verified.error();
  return program;
}

Value Builder::slice(const Value& x, Shape shape, Axes starts, Axes lengths, Axes strides) {
  if (strides.empty()) strides.assign(shape.size(), 1);
  return op("slice", {x},
            {{"dynamic_mask", 0},
             {"input_shape", std::move(shape)},
             {"lengths", std::move(lengths)},
             {"strides", std::move(strides)},
             {"starts", std::move(starts)}});
}

Value Builder::dot(const Value& a, const Value& b, Axes contract_a, Axes contract_b, Axes batch_a, Axes batch_b) {
  return op("dot", {a, b},
            {{"contract_a", std::move(contract_a)},
             {"contract_b", std::move(contract_b)},
             {"batch_a", std::move(batch_a)},
             {"batch_b", std::move(batch_b)}});
}

// An operator has no builder of its own: it writes where its operands belong. Empty values stay empty, and whoever uses
// them is told.
Value apply(std::string_view name, const Value& a, const Value* b) {
  const auto& state = a.state_ ? a.state_ : b ? b->state_ : a.state_;
  if (!state) return {};
  Builder builder(state);
  return b ? builder.op(name, {a, *b}) : builder.op(name, {a});
}

Value operator+(const Value& a, const Value& b) { return apply("add", a, &b); }
Value operator-(const Value& a, const Value& b) { return apply("subtract", a, &b); }
Value operator*(const Value& a, const Value& b) { return apply("multiply", a, &b); }
Value operator/(const Value& a, const Value& b) { return apply("divide", a, &b); }
Value operator-(const Value& x) { return apply("negate", x, nullptr); }
Value operator<(const Value& a, const Value& b) { return apply("less", a, &b); }
Value operator<=(const Value& a, const Value& b) { return apply("less_equal", a, &b); }
Value operator>(const Value& a, const Value& b) { return apply("greater", a, &b); }
Value operator>=(const Value& a, const Value& b) { return apply("greater_equal", a, &b); }

}  // namespace reprise
