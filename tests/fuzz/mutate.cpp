#include "fuzz/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/check.hpp"
#include "io/wire/wire.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"

namespace reprise::fuzz {
namespace {

// Room for what the mutants ask for: little, so that absurd sizes are refused and the others are quick.
const CompileOptions kSmall{.max_value_bytes = 1 << 18};

std::int64_t odd_integer(Random& r) {
  return r.pick({INT64_MIN, INT64_MAX, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                 std::int64_t{INT32_MAX}, std::int64_t{INT32_MAX} + 1, std::int64_t{INT32_MIN} - 1,
                 std::int64_t{1} << 32, (std::int64_t{1} << 32) + 1, std::int64_t{65536}, std::int64_t{46341},
                 std::int64_t{1} << 62, static_cast<std::int64_t>(r.bits())});
}

Ref odd_ref(Random& r) {
  const auto kind = static_cast<RefKind>(r.percent(10) ? r.below(256) : r.below(5));
  return {kind, r.coin() ? r.below(6) : odd_integer(r)};
}

std::string odd_name(Random& r) {
  static const std::string kNames[] = {"",         "sums",   "While",   "add ",     std::string("a\0b", 3),
                                       "\xff\xfe", "%0",     "float32", "float64x", "f32",
                                       "bool",     "affine", "nvfp4",   "\n"};
  return r.percent(5) ? std::string(20000, 'x') : r.pick(kNames);
}

Attr odd_attr(Random& r) {
  switch (r.below(4)) {
    case 0: return Name{odd_name(r)};
    case 1: return Bytes{odd_name(r)};
    case 2: return r.below(8);
    default: return odd_integer(r);
  }
}

template <typename T, typename Make>
void change_list(std::vector<T>& list, Random& r, Make make) {
  const auto n = static_cast<std::int64_t>(list.size());
  const auto at = list.begin() + r.below(n);
  switch (n == 0 ? 0 : r.below(5)) {
    case 0: list.insert(list.begin() + r.between(0, n), make()); break;
    case 1: list.erase(at); break;
    case 2: list.insert(at, T(*at)); break;
    case 3: std::swap(*at, list.back()); break;
    default: *at = make();
  }
}

struct AnyList {
  std::vector<Instruction>* instructions;
  std::vector<Ref>* outputs;
};

void all_lists(std::vector<Instruction>& instructions, std::vector<Ref>& outputs, std::vector<AnyList>& out) {
  out.push_back({&instructions, &outputs});
  for (Instruction& i : instructions) {
    for (SubProgram& sub : i.subprograms) all_lists(sub.instructions, sub.outputs, out);
  }
}

void mutate_instruction(std::vector<Instruction>& list, Random& r) {
  if (list.empty()) {
    list.push_back({odd_name(r), {odd_ref(r)}, {odd_attr(r)}, {}});
    return;
  }
  Instruction& i = r.pick(list);
  switch (r.below(11)) {
    case 0:
    case 1: change_list(i.operands, r, [&] { return odd_ref(r); }); break;
    case 2:
    case 3:
      if (!i.operands.empty()) r.pick(i.operands).index = r.coin() ? r.between(-2, 12) : odd_integer(r);
      break;
    case 4:
    case 5: change_list(i.attrs, r, [&] { return odd_attr(r); }); break;
    case 6:
      if (!i.attrs.empty()) r.pick(i.attrs) = odd_attr(r);
      break;
    case 7: {
      const auto all = ops::all_defs();
      i.op = r.coin() ? odd_name(r) : std::string(r.pick(all)->name);
      break;
    }
    case 8: change_list(i.subprograms, r, [&] { return SubProgram{{}, {odd_ref(r)}}; }); break;
    case 9: {
      // Around itself, more and more often than loops may nest.
      Instruction loop = i;
      for (auto depth = r.percent(20) ? 70 : r.between(1, 3); depth > 0; --depth) {
        SubProgram sub{{loop}, {odd_ref(r)}};
        loop = {"while", {odd_ref(r)}, {}, {sub, sub}};
        if (depth > 5) loop.subprograms.resize(1);
      }
      i = std::move(loop);
      break;
    }
    default: change_list(list, r, [&] { return Instruction{odd_name(r), {}, {}, {}}; });
  }
}

void mutate(ProgramData& data, Random& r) {
  std::vector<AnyList> lists;
  all_lists(data.instructions, data.outputs, lists);
  const AnyList list = r.coin() ? lists.front() : r.pick(lists);
  switch (r.below(9)) {
    case 0: change_list(*list.outputs, r, [&] { return odd_ref(r); }); break;
    case 1: data.num_inputs = static_cast<std::int32_t>(r.coin() ? r.between(-1, 9) : odd_integer(r)); break;
    case 2: data.num_real_outputs = static_cast<std::int32_t>(r.coin() ? r.between(-1, 9) : odd_integer(r)); break;
    case 3:
      if (data.captures.empty() || r.percent(20)) {
        data.captures.push_back({odd_name(r), nullptr});
      } else {
        change_list(data.captures, r, [&] { return Capture{odd_name(r), nullptr}; });
      }
      break;
    case 4:
      change_list(data.constants, r, [&] {
        return Constant::of(odd_integer(r), static_cast<DType>(r.percent(30) ? r.below(256) : r.below(kDTypeCount)));
      });
      break;
    default: mutate_instruction(*list.instructions, r);
  }
}

std::string mutated_text(std::string text, Random& r) {
  static const std::string kPieces[] = {"%",
                                        "in-1",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "(",
                                        ")",
                                        "\"",
                                        "=",
                                        ",",
                                        ":",
                                        "\n",
                                        "b\"",
                                        "-",
                                        "1e999",
                                        "while ",
                                        "sub {",
                                        "#",
                                        "nan",
                                        "f32[",
                                        "true",
                                        "none",
                                        "0x",
                                        "return ",
                                        "bits(0x7f",
                                        "carry0",
                                        "cap7",
                                        "in99",
                                        "%99",
                                        "axis",
                                        "attrs(",
                                        "inputs ",
                                        "99999999999999999999",
                                        "9223372036854775807",
                                        "-9223372036854775808"};
  for (auto edits = r.between(1, 3); edits > 0 && !text.empty(); --edits) {
    const auto at = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(text.size())));
    const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    switch (r.below(8)) {
      case 0: text.erase(at, static_cast<std::size_t>(r.between(1, 6))); break;
      case 1: text[at] = static_cast<char>(r.below(256)); break;
      case 2: text.insert(at, r.pick(kPieces)); break;
      case 3: text.erase(begin, end - begin); break;
      case 4: text.insert(begin, text.substr(begin, end - begin) + "\n"); break;
      case 5: {
        // Another number in place of one.
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t stop = std::min(text.find_first_not_of("0123456789", digit), text.size());
        text.replace(digit, stop - digit, std::to_string(r.coin() ? r.below(12) : odd_integer(r)));
        break;
      }
      case 6: {
        const std::string line = text.substr(begin, end - begin);
        text.erase(begin, end - begin);
        text.insert(static_cast<std::size_t>(r.below(static_cast<std::int64_t>(text.size()) + 1)), line + "\n");
        break;
      }
      default: text.resize(at);
    }
  }
  return text;
}

wire::Term odd_term(Random& r) {
  using wire::Term;
  switch (r.below(9)) {
    case 0: return Term::integer(odd_integer(r));
    case 1: return Term::natural(r.bits());
    case 2: return Term::real(r.pick({0.0, 1.5, -1e300}));
    case 3: return Term::atom(odd_name(r).substr(0, 200));
    case 4: return Term::binary(odd_name(r));
    case 5: return Term::list({});
    case 6: return Term::tuple({Term::atom("input"), Term::integer(r.below(5))});
    case 7: return Term::map({});
    default: return {wire::List{{Term::integer(1), Term::integer(2)}, false}};
  }
}

// Goes down at random and changes what it meets.
void mutate(wire::Term& term, Random& r) {
  const auto into = [&](std::vector<wire::Term>& items) {
    if (items.empty() || r.percent(15)) {
      change_list(items, r, [&] { return odd_term(r); });
    } else {
      mutate(r.pick(items), r);
    }
  };
  if (auto* list = std::get_if<wire::List>(&term.value); list && r.percent(90)) return into(list->items);
  if (auto* tuple = std::get_if<wire::Tuple>(&term.value); tuple && r.percent(80)) return into(tuple->items);
  if (auto* map = std::get_if<wire::Map>(&term.value); map && !map->entries.empty() && r.percent(95)) {
    auto& entry = r.pick(map->entries);
    return mutate(r.percent(95) ? entry.second : entry.first, r);
  }
  term = odd_term(r);
}

std::string mutated_bytes(std::string bytes, Random& r) {
  for (auto edits = r.between(1, 4); edits > 0 && !bytes.empty(); --edits) {
    const auto at = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(bytes.size())));
    switch (r.below(4)) {
      case 0: bytes.erase(at, static_cast<std::size_t>(r.between(1, 4))); break;
      case 1: bytes.insert(at, 1, static_cast<char>(r.below(256))); break;
      case 2: bytes.resize(at); break;
      default: bytes[at] = static_cast<char>(r.below(256));
    }
  }
  return bytes;
}

// A program from somewhere on its way to a run.
std::optional<std::string> drive(const Program& program, const std::vector<ArraySpec>& inputs, MutantCounts& counts) {
  const auto executable = compile(program, kSmall);
  if (!executable) {
    ++counts.refused_by_verify;
    return check_error(executable.error());
  }
  std::vector<TensorType> types;
  std::vector<mx::array> arrays;
  for (std::int64_t i = 0; i < program->num_inputs; ++i) {
    // Where the program takes more inputs than there were, the first come again.
    const ArraySpec spec =
        inputs.empty() ? filled({DType::float32, {2}}, 1) : inputs[static_cast<std::size_t>(i) % inputs.size()];
    types.push_back(spec.type);
    arrays.push_back(make_dense(spec));
    if (i > 1000) return {};
  }
  auto verified = verify(program);
  const auto typed =
      infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), types, kSmall.max_value_bytes);
  const auto out = executable->run(std::move(arrays), {.host = answer, .max_loop_turns = 20});
  if (!typed) {
    ++counts.refused_by_infer;
    if (out) return "the run accepts what inference refuses: " + typed.error().message();
    return check_error(typed.error());
  }
  if (!out) {
    ++counts.refused_by_run;
    return check_error(out.error());
  }
  ++counts.valid;
  for (std::size_t k = 0; k < out->size(); ++k) {
    const TensorType wanted = typed->type_of(program->outputs[k]);
    if (type_of((*out)[k]) != wanted) {
      return fmt::format("output {} is {}; inferred {}", k, to_string(type_of((*out)[k])), to_string(wanted));
    }
  }
  return {};
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace

void MutantCounts::add(const MutantCounts& other) {
  mutants += other.mutants;
  refused_by_reader += other.refused_by_reader;
  refused_by_verify += other.refused_by_verify;
  refused_by_infer += other.refused_by_infer;
  refused_by_run += other.refused_by_run;
  valid += other.valid;
}

std::string_view to_string(MutantLevel level) {
  switch (level) {
    case MutantLevel::data: return "data";
    case MutantLevel::text: return "text";
    case MutantLevel::wire: return "wire";
    case MutantLevel::inputs: return "inputs";
  }
  return "";
}

std::optional<std::string> check_mutant(const FuzzCase& one, MutantLevel level, Random& random, MutantCounts& counts,
                                        const std::function<void(const std::string&)>& about) {
  ++counts.mutants;
  const auto refused = [&](const Error& error) {
    ++counts.refused_by_reader;
    return check_error(error);
  };
  switch (level) {
    case MutantLevel::data: {
      ProgramData data = one.data;
      for (auto n = random.percent(75) ? 1 : random.between(2, 4); n > 0; --n) mutate(data, random);
      const Program program(std::move(data));
      about(print_program(program));
      return drive(program, one.inputs, counts);
    }
    case MutantLevel::text: {
      const std::string text = mutated_text(print_program(Program(one.data)), random);
      about(text);
      std::vector<Capture> captures = one.data.captures;
      for (Capture& c : captures) c.name.clear();
      const auto program = parse_program(text, captures);
      return program ? drive(*program, one.inputs, counts) : refused(program.error());
    }
    case MutantLevel::wire: {
      auto term = wire::encode_program(Program(one.data), wire::capture_index);
      if (!term) return "it has no wire form: " + term.error().message();
      const bool in_bytes = random.percent(30);
      if (!in_bytes) mutate(*term, random);
      const auto encoded = wire::encode_term(*term);
      if (!encoded) return refused(encoded.error().with_context("decode failed"));
      const std::string bytes = in_bytes ? mutated_bytes(*encoded, random) : *encoded;
      about(hex(bytes));
      const auto decoded = wire::decode_term(bytes);
      if (!decoded) return refused(decoded.error());
      const auto program = wire::decode_program(*decoded, wire::captures_by_index(one.data.captures));
      return program ? drive(*program, one.inputs, counts) : refused(program.error());
    }
    case MutantLevel::inputs: {
      about(describe(one));
      bool ran = false;
      auto fault = check_bad_inputs(one, random, ran);
      ++(ran ? counts.valid : counts.refused_by_infer);
      return fault;
    }
  }
  return {};
}

}  // namespace reprise::fuzz
