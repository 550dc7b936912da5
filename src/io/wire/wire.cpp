#include "io/wire/wire.hpp"

#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "program/verify.hpp"

namespace reprise::wire {
namespace {

// Where in the term the decoder is: a chain of frames on the stack, spelled out only for an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view field;
  std::size_t index = SIZE_MAX;

  std::string text() const {
    std::string out = parent ? parent->text() : "";
    if (index != SIZE_MAX) return out + fmt::format("[{}]", index);
    if (!out.empty()) out += ".";
    out += field;
    return out;
  }
};

Error failed(const Path& path, const Term& seen, std::string_view wanted) {
  return make_error(ErrorCode::parse, "decode failed: {}: seen {}, wanted {}", path.text(), describe(seen), wanted);
}

Result<const Term*> field(const Map& map, std::string_view name, const Path& path) {
  for (const auto& [key, value] : map.entries) {
    if (const Atom* atom = key.as<Atom>(); atom && atom->name == name) return &value;
  }
  return make_error(ErrorCode::parse, "decode failed: {}: no key '{}'", path.text(), name);
}

Result<const Map*> as_map(const Term& term, const Path& path) {
  if (const Map* map = term.as<Map>()) return map;
  return failed(path, term, "a map");
}

Result<const std::vector<Term>*> as_list(const Term& term, const Path& path) {
  if (const List* list = term.as<List>(); list && list->proper) return &list->items;
  return failed(path, term, "a proper list");
}

// Decodes each item of a list field of a map.
template <typename T, typename Decode>
Result<std::vector<T>> list_field(const Map& map, std::string_view name, const Path& parent, const Decode& decode) {
  const Path path{&parent, name};
  REPRISE_ASSIGN(const Term* term, field(map, name, parent));
  REPRISE_ASSIGN(const std::vector<Term>* items, as_list(*term, path));
  std::vector<T> out;
  out.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    REPRISE_ASSIGN(T value, decode((*items)[i], Path{&path, {}, i}));
    out.push_back(std::move(value));
  }
  return out;
}

Result<std::int32_t> int32_field(const Map& map, std::string_view name, const Path& parent) {
  REPRISE_ASSIGN(const Term* term, field(map, name, parent));
  const auto* i = term->as<std::int64_t>();
  if (i && *i >= std::numeric_limits<std::int32_t>::min() && *i <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(*i);
  }
  return failed(Path{&parent, name}, *term, "an integer of 32 bits");
}

constexpr std::pair<std::string_view, RefKind> kRefKinds[] = {{"input", RefKind::input},
                                                              {"capture", RefKind::capture},
                                                              {"const", RefKind::constant},
                                                              {"result", RefKind::result},
                                                              {"carry", RefKind::carry}};

Result<Ref> decode_ref(const Term& term, const Path& path) {
  const Tuple* pair = term.as<Tuple>();
  if (!pair || pair->items.size() != 2) return failed(path, term, "{Kind, Index}");
  const Atom* kind = pair->items[0].as<Atom>();
  const auto* index = pair->items[1].as<std::int64_t>();
  if (!kind) return failed(path, pair->items[0], "an atom as the reference's kind");
  if (!index) return failed(path, pair->items[1], "an integer of 64 bits as the reference's index");
  for (const auto& [name, value] : kRefKinds) {
    if (name == kind->name) return Ref{value, *index};
  }
  return make_error(ErrorCode::parse, "decode failed: {}: unknown ref kind {}", path.text(), describe(pair->items[0]));
}

Result<Attr> decode_attr(const Term& term, const Path& path) {
  if (const auto* i = term.as<std::int64_t>()) return Attr(*i);
  if (const auto* b = term.as<Binary>()) return Attr(Bytes{b->bytes});
  if (const auto* a = term.as<Atom>()) return Attr(Name{a->name});
  return failed(path, term, "an integer of 64 bits, a binary or an atom");
}

// A part of a constant: Erlang's floats are finite, so the others travel as atoms.
std::optional<double> as_real(const Term& term) {
  if (const auto* d = term.as<double>()) return *d;
  if (const auto* i = term.as<std::int64_t>()) return static_cast<double>(*i);
  if (const auto* u = term.as<std::uint64_t>()) return static_cast<double>(*u);
  const Atom* atom = term.as<Atom>();
  if (!atom) return std::nullopt;
  if (atom->name == "infinity") return std::numeric_limits<double>::infinity();
  if (atom->name == "neg_infinity") return -std::numeric_limits<double>::infinity();
  if (atom->name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

Result<Constant> decode_constant(const Term& term, const Path& path) {
  const Tuple* pair = term.as<Tuple>();
  if (!pair || pair->items.size() != 2) return failed(path, term, "{Value, Dtype}");
  const Atom* name = pair->items[1].as<Atom>();
  if (!name) return failed(path, pair->items[1], "a dtype name");
  const auto dtype = dtype_from_name(name->name);
  if (!dtype) {
    return make_error(ErrorCode::parse, "decode failed: {}: Unknown dtype: {}", path.text(), name->name.substr(0, 64));
  }
  const Term& value = pair->items[0];
  if (const auto* i = value.as<std::int64_t>()) return Constant::of(*i, *dtype);
  if (const auto* u = value.as<std::uint64_t>()) return Constant::of(*u, *dtype);
  if (const auto real = as_real(value)) return Constant::of(*real, *dtype);
  if (const Tuple* parts = value.as<Tuple>(); parts && parts->items.size() == 2) {
    const auto re = as_real(parts->items[0]);
    const auto im = as_real(parts->items[1]);
    if (re && im) return Constant::of(std::complex<double>(*re, *im), *dtype);
  }
  return failed(path, value, "a float, an integer, infinity, neg_infinity, nan or {Re, Im}");
}

Result<SubProgram> decode_subprogram(const Term& term, const Path& path, int depth);

Result<Instruction> decode_instruction(const Term& term, const Path& path, int depth) {
  REPRISE_ASSIGN(const Map* map, as_map(term, path));
  Instruction out;
  REPRISE_ASSIGN(const Term* op, field(*map, "op", path));
  const Atom* name = op->as<Atom>();
  if (!name) return failed(Path{&path, "op"}, *op, "an atom");
  out.op = name->name;
  REPRISE_ASSIGN(out.operands, list_field<Ref>(*map, "operands", path, decode_ref));
  REPRISE_ASSIGN(out.attrs, list_field<Attr>(*map, "attrs", path, decode_attr));
  const auto sub = [depth](const Term& t, const Path& p) { return decode_subprogram(t, p, depth + 1); };
  REPRISE_ASSIGN(out.subprograms, list_field<SubProgram>(*map, "subprograms", path, sub));
  return out;
}

Result<std::vector<Instruction>> decode_instructions(const Map& map, const Path& path, int depth) {
  const auto one = [depth](const Term& t, const Path& p) { return decode_instruction(t, p, depth); };
  return list_field<Instruction>(map, "instructions", path, one);
}

Result<SubProgram> decode_subprogram(const Term& term, const Path& path, int depth) {
  if (depth > kMaxNesting) {
    return make_error(ErrorCode::parse, "decode failed: subprograms nest deeper than {}", kMaxNesting);
  }
  REPRISE_ASSIGN(const Map* map, as_map(term, path));
  SubProgram out;
  REPRISE_ASSIGN(out.instructions, decode_instructions(*map, path, depth));
  REPRISE_ASSIGN(out.outputs, list_field<Ref>(*map, "outputs", path, decode_ref));
  return out;
}

template <typename T, typename Encode>
Result<Term> encode_list(const std::vector<T>& values, const Encode& encode) {
  std::vector<Term> out;
  out.reserve(values.size());
  for (const T& value : values) {
    REPRISE_ASSIGN(Term term, encode(value));
    out.push_back(std::move(term));
  }
  return Term::list(std::move(out));
}

Result<Term> encode_ref(const Ref& ref) {
  for (const auto& [name, kind] : kRefKinds) {
    if (kind == ref.kind) return Term::tuple({Term::atom(std::string(name)), Term::integer(ref.index)});
  }
  return make_error(ErrorCode::invalid_argument, "unknown ref kind {}", static_cast<int>(ref.kind));
}

Result<Term> encode_attr(const Attr& attr) {
  if (const auto* i = std::get_if<std::int64_t>(&attr)) return Term::integer(*i);
  if (const auto* b = std::get_if<Bytes>(&attr)) return Term::binary(b->data);
  return Term::atom(std::get<Name>(attr).text);
}

Term encode_real(double d) {
  if (std::isnan(d)) return Term::atom("nan");
  if (std::isinf(d)) return Term::atom(d > 0 ? "infinity" : "neg_infinity");
  return Term::real(d);
}

Result<Term> encode_constant(const Constant& c) {
  if (static_cast<int>(c.dtype) >= kDTypeCount) {
    return make_error(ErrorCode::invalid_argument, "a constant has dtype {}, which has no name",
                      static_cast<int>(c.dtype));
  }
  Term value = Term::integer(0);
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) value = Term::integer(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&c.value)) value = Term::natural(*u);
  if (const auto* d = std::get_if<double>(&c.value)) value = encode_real(*d);
  if (const auto* z = std::get_if<std::complex<double>>(&c.value)) {
    value = Term::tuple({encode_real(z->real()), encode_real(z->imag())});
  }
  return Term::tuple({std::move(value), Term::atom(std::string(name(c.dtype)))});
}

std::pair<Term, Term> entry(std::string key, Term value) { return {Term::atom(std::move(key)), std::move(value)}; }

Result<Term> encode_subprogram(const SubProgram& sub);

Result<Term> encode_instruction(const Instruction& instruction) {
  REPRISE_ASSIGN(Term operands, encode_list(instruction.operands, encode_ref));
  REPRISE_ASSIGN(Term attrs, encode_list(instruction.attrs, encode_attr));
  REPRISE_ASSIGN(Term subprograms, encode_list(instruction.subprograms, encode_subprogram));
  return Term::map({entry("__struct__", Term::atom("Elixir.EMLX.Native.Instruction")),
                    entry("op", Term::atom(instruction.op)), entry("operands", std::move(operands)),
                    entry("attrs", std::move(attrs)), entry("subprograms", std::move(subprograms))});
}

Result<Term> encode_subprogram(const SubProgram& sub) {
  REPRISE_ASSIGN(Term instructions, encode_list(sub.instructions, encode_instruction));
  REPRISE_ASSIGN(Term outputs, encode_list(sub.outputs, encode_ref));
  return Term::map({entry("__struct__", Term::atom("Elixir.EMLX.Native.SubProgram")),
                    entry("instructions", std::move(instructions)), entry("outputs", std::move(outputs))});
}

}  // namespace

Result<Program> decode_program(const Term& term, const CaptureFromTerm& captures) {
  const Path path{nullptr, "program"};
  REPRISE_ASSIGN(const Map* map, as_map(term, path));
  ProgramData data;
  REPRISE_ASSIGN(data.num_inputs, int32_field(*map, "num_inputs", path));
  REPRISE_ASSIGN(data.num_real_outputs, int32_field(*map, "num_real_outputs", path));
  const auto capture = [&](const Term& t, const Path& p) -> Result<Capture> {
    auto found = captures(t);
    if (found) return found;
    return make_error(ErrorCode::parse, "decode failed: {}: tensor param: {}", p.text(), found.error().message());
  };
  REPRISE_ASSIGN(data.captures, list_field<Capture>(*map, "captures", path, capture));
  REPRISE_ASSIGN(data.constants, list_field<Constant>(*map, "constants", path, decode_constant));
  REPRISE_ASSIGN(data.instructions, decode_instructions(*map, path, 0));
  REPRISE_ASSIGN(data.outputs, list_field<Ref>(*map, "outputs", path, decode_ref));
  return Program(std::move(data));
}

Result<Term> encode_program(const Program& program, const CaptureToTerm& captures) {
  std::vector<Term> capture_terms;
  for (std::size_t i = 0; i < program->captures.size(); ++i) {
    REPRISE_ASSIGN(Term term, captures(i));
    capture_terms.push_back(std::move(term));
  }
  REPRISE_ASSIGN(Term constants, encode_list(program->constants, encode_constant));
  REPRISE_ASSIGN(Term instructions, encode_list(program->instructions, encode_instruction));
  REPRISE_ASSIGN(Term outputs, encode_list(program->outputs, encode_ref));
  return Term::map({entry("__struct__", Term::atom("Elixir.EMLX.Native.Program")),
                    entry("num_inputs", Term::integer(program->num_inputs)),
                    entry("captures", Term::list(std::move(capture_terms))), entry("constants", std::move(constants)),
                    entry("instructions", std::move(instructions)), entry("outputs", std::move(outputs)),
                    entry("num_real_outputs", Term::integer(program->num_real_outputs))});
}

CaptureFromTerm captures_by_index(std::span<const Capture> captures) {
  return [captures](const Term& term) -> Result<Capture> {
    const Tuple* pair = term.as<Tuple>();
    const Atom* tag = pair && pair->items.size() == 2 ? pair->items[0].as<Atom>() : nullptr;
    const auto* index = tag && tag->name == "capture" ? pair->items[1].as<std::int64_t>() : nullptr;
    if (!index) return make_error(ErrorCode::parse, "seen {}, wanted {{capture, Index}}", describe(term));
    if (*index < 0 || static_cast<std::uint64_t>(*index) >= captures.size()) {
      return make_error(ErrorCode::parse, "capture {} is out of range: there are {}", *index, captures.size());
    }
    return captures[static_cast<std::size_t>(*index)];
  };
}

Result<Term> capture_index(std::size_t index) {
  return Term::tuple({Term::atom("capture"), Term::integer(static_cast<std::int64_t>(index))});
}

}  // namespace reprise::wire
