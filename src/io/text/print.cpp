#include "io/text/print.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "io/text/literal.hpp"
#include "ops/registry.hpp"
#include "program/result_count.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace text {
namespace {

// Words that mean something at the start of a line or behind a name; an op of that name goes in quotes.
constexpr std::string_view kReserved[] = {"return", "keep", "num_real_outputs", "attrs"};

std::string print_types(std::span<const TensorType> types) {
  std::string out;
  for (const TensorType& type : types) out += (out.empty() ? " : " : ", ") + to_string(type);
  return out;
}

std::string print_value(const ops::Value& value) {
  struct Visitor {
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(double d) const { return print_real(d); }
    std::string operator()(DType d) const { return std::string(name(d)); }
    std::string operator()(const Name& n) const { return n.text; }
    std::string operator()(const ops::Ints& list) const { return to_string(Shape(list)); }
    std::string operator()(const std::vector<TensorType>& types) const {
      std::string out;
      for (const TensorType& type : types) out += (out.empty() ? "" : ", ") + to_string(type);
      return "[" + out + "]";
    }
  };
  return std::visit(Visitor{}, value);
}

std::string print_raw(const std::vector<Attr>& attrs) {
  std::string out = " attrs(";
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (i > 0) out += ", ";
    if (const auto* integer = std::get_if<std::int64_t>(&attrs[i])) {
      out += std::to_string(*integer);
    } else if (const auto* word = std::get_if<Name>(&attrs[i])) {
      out += print_name(word->text);
    } else {
      out += quote_bytes(std::get<Bytes>(attrs[i]).data);
    }
  }
  return out + ")";
}

// By name if that says exactly the same, else raw. A flag of 2, for one, is decoded as true, which encodes as 1.
std::string print_attrs(const ops::OpDef* op, const std::vector<Attr>& attrs) {
  if (!op || !op->attrs) return attrs.empty() ? "" : print_raw(attrs);
  auto decoded = ops::decode_attrs(*op->attrs, attrs);
  if (!decoded) return print_raw(attrs);
  std::vector<std::pair<std::string, ops::Value>> named;
  for (auto& [name, value] : ops::named_attrs(*op->attrs, decoded->get())) named.emplace_back(name, std::move(value));
  const auto again = ops::attrs_from_named(*op->attrs, named);
  if (!again || *again != attrs) return print_raw(attrs);
  std::string out = " {";
  for (const auto& [name, value] : named) {
    if (out.size() > 2) out += ", ";
    out += name;
    out += " = ";
    out += print_value(value);
  }
  return out + "}";
}

std::string print_op(std::string_view op) {
  return std::find(std::begin(kReserved), std::end(kReserved), op) == std::end(kReserved) ? print_name(op) : quote(op);
}

std::string print_ref(const Ref& ref) {
  if (static_cast<int>(ref.kind) > static_cast<int>(RefKind::carry)) {
    return fmt::format("ref({}, {})", static_cast<int>(ref.kind), ref.index);
  }
  return to_string(ref);
}

class Printer {
 public:
  explicit Printer(const ProgramData& data, const TypedProgram* typed = nullptr) : data_(data), typed_(typed) {}

  std::string run() {
    line(0, "reprise 1");
    line(0, fmt::format("inputs {}{}", data_.num_inputs, typed_ ? print_types(typed_->inputs()) : ""));
    for (std::size_t i = 0; i < data_.captures.size(); ++i) {
      const Capture& c = data_.captures[i];
      line(0, fmt::format("cap{} = {} : {}", i, quote(c.name), c.value ? to_string(c.type()) : "none"));
    }
    for (std::size_t i = 0; i < data_.constants.size(); ++i) {
      const Constant& c = data_.constants[i];
      line(0, fmt::format("const{} = {} : {}", i, print_constant_value(c), print_dtype(c.dtype)));
    }
    instructions(data_.instructions, typed_ ? &typed_->types() : nullptr, 0);
    outputs();
    return std::move(out_);
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
    out_ += text;
    out_ += '\n';
  }

  static std::string refs(std::string_view before, std::span<const Ref> refs) {
    std::string out(before);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      out += i > 0 ? ", " : " ";
      out += print_ref(refs[i]);
    }
    return out;
  }

  void outputs() {
    const std::span<const Ref> all(data_.outputs);
    const bool in_range = data_.num_real_outputs >= 0 && static_cast<std::size_t>(data_.num_real_outputs) <= all.size();
    const std::size_t real = in_range ? static_cast<std::size_t>(data_.num_real_outputs) : all.size();
    line(0, refs("return", all.first(real)));
    if (real < all.size()) line(0, refs("keep", all.subspan(real)));
    if (!in_range) line(0, fmt::format("num_real_outputs {}", data_.num_real_outputs));
  }

  // `types` belong to this list if given.
  void instructions(const std::vector<Instruction>& list, const TypedList* types, int nesting) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Instruction& instruction = list[i];
      const ops::OpDef* op = ops::find_def(instruction.op);
      // An op that nobody knows is taken to have one result; the reader takes any number.
      const std::size_t count = count_results(op, instruction.attrs, instruction.operands.size()).value_or(1);
      std::string text;
      for (std::size_t k = 0; k < count; ++k) text += fmt::format("{}%{}", k > 0 ? ", " : "", next + k);
      if (count > 0) text += " = ";
      text += refs(print_op(instruction.op), instruction.operands);
      text += print_attrs(op, instruction.attrs);
      const std::string annotation = types ? print_types(std::span(types->results).subspan(next, count)) : "";
      next += count;
      if (instruction.subprograms.empty()) {
        line(2 * nesting, text + annotation);
        continue;
      }
      line(2 * nesting, text + " {");
      subprograms(instruction, op, types && !types->subprograms[i].empty() ? &types->subprograms[i] : nullptr, nesting);
      line(2 * nesting, "}" + annotation);
    }
  }

  void subprograms(const Instruction& instruction, const ops::OpDef* op, const std::vector<TypedList>* types,
                   int nesting) {
    if (nesting >= kMaxNesting) {  // the verifier refuses such programs, and recursion needs an end
      line(2 * nesting + 1, fmt::format("# nested deeper than {}: left out", kMaxNesting));
      return;
    }
    const bool loop = op && has(op->traits, ops::Trait::control);
    for (std::size_t s = 0; s < instruction.subprograms.size(); ++s) {
      const SubProgram& sub = instruction.subprograms[s];
      line(2 * nesting + 1, loop && s == 0 ? "cond {" : loop && s == 1 ? "body {" : "sub {");
      instructions(sub.instructions, types ? &(*types)[s] : nullptr, nesting + 1);
      line(2 * nesting + 2, refs("return", sub.outputs));
      line(2 * nesting + 1, "}");
    }
  }

  const ProgramData& data_;
  const TypedProgram* typed_;
  std::string out_;
};

}  // namespace
}  // namespace text

std::string print_program(const Program& program) { return text::Printer(program.data()).run(); }

std::string print_program(const TypedProgram& program) {
  return text::Printer(program.program().data(), &program).run();
}

}  // namespace reprise
