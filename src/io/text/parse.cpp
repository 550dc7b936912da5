#include "io/text/parse.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "io/text/literal.hpp"
#include "ops/registry.hpp"
#include "program/result_count.hpp"
#include "program/verify.hpp"
#include "reprise/text.hpp"

namespace reprise::text {
namespace {

constexpr std::string_view kOperand = "an operand: in0, cap0, const0, carry0 or %0";
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text) {}

  Result<ParsedText> run() {
    scanner_.skip_empty_lines();
    REPRISE_RETURN_IF_ERROR(header());
    scanner_.skip_empty_lines();
    REPRISE_RETURN_IF_ERROR(tables());
    ProgramData& data = out_.data;
    REPRISE_RETURN_IF_ERROR(list(data.instructions, data.outputs, 0));
    if (data.outputs.size() > static_cast<std::size_t>(kMaxInt32)) {
      return scanner_.error(fmt::format("at most {} outputs", kMaxInt32));
    }
    data.num_real_outputs = static_cast<std::int32_t>(data.outputs.size());
    REPRISE_RETURN_IF_ERROR(tail());
    return std::move(out_);
  }

 private:
  Status header() {
    if (!scanner_.take_word("reprise")) return scanner_.error("'reprise 1', the first line of a program");
    const std::size_t at = scanner_.here();
    REPRISE_ASSIGN(const std::int64_t version, scanner_.integer("the version of the form, 1"));
    if (version != 1) return scanner_.error_at(at, "version 1 of the form, the one that this library reads");
    return scanner_.end_line("end of line");
  }

  Status tables() {
    if (!scanner_.take_word("inputs")) return scanner_.error("'inputs' and their number");
    REPRISE_ASSIGN(out_.data.num_inputs, int32("the number of inputs"));
    REPRISE_RETURN_IF_ERROR(annotation());
    REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    while (true) {
      scanner_.skip_empty_lines();
      const std::string_view word = scanner_.peek_word();
      if (declares(word, "cap")) {
        REPRISE_RETURN_IF_ERROR(declare(word, "cap", out_.captures.size()));
        REPRISE_RETURN_IF_ERROR(capture());
      } else if (declares(word, "const")) {
        REPRISE_RETURN_IF_ERROR(declare(word, "const", out_.data.constants.size()));
        REPRISE_RETURN_IF_ERROR(constant());
      } else {
        return {};
      }
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    }
  }

  // "cap12", but not "cap" or "capture".
  static bool declares(std::string_view word, std::string_view prefix) {
    return word.size() > prefix.size() && word.starts_with(prefix) &&
           word.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
  }

  Status declare(std::string_view word, std::string_view prefix, std::size_t next) {
    const std::string wanted = fmt::format("{}{}", prefix, next);
    if (word != wanted) return scanner_.error(fmt::format("'{}': they are declared in order", wanted));
    scanner_.word();
    return scanner_.expect('=');
  }

  Status capture() {
    Capture capture;
    REPRISE_ASSIGN(capture.name, scanner_.string());
    REPRISE_RETURN_IF_ERROR(scanner_.expect(':'));
    if (scanner_.take_word("none")) {
      out_.captures.emplace_back(std::nullopt);
    } else {
      REPRISE_ASSIGN(TensorType type, parse_type(scanner_));
      out_.captures.emplace_back(std::move(type));
    }
    out_.data.captures.push_back(std::move(capture));
    return {};
  }

  Status constant() {
    Constant constant;
    if (scanner_.take('(')) {
      REPRISE_ASSIGN(const double re, scanner_.real("the real part"));
      REPRISE_RETURN_IF_ERROR(scanner_.expect(','));
      REPRISE_ASSIGN(const double im, scanner_.real("the imaginary part"));
      REPRISE_RETURN_IF_ERROR(scanner_.expect(')'));
      constant.value = std::complex<double>(re, im);
    } else if (scanner_.take_word("true")) {
      constant.value = std::int64_t{1};
    } else if (scanner_.take_word("false")) {
      constant.value = std::int64_t{0};
    } else {
      REPRISE_ASSIGN(const Scanner::Number number, scanner_.number("a number, true, false or (re, im)"));
      std::visit([&](auto value) { constant.value = value; }, number);
    }
    REPRISE_RETURN_IF_ERROR(scanner_.expect(':'));
    if (scanner_.take_word("dtype")) {
      // A dtype that is none: a faulty program from elsewhere, printed to be looked at.
      REPRISE_RETURN_IF_ERROR(scanner_.expect('('));
      const std::size_t at = scanner_.here();
      REPRISE_ASSIGN(const std::int64_t code, scanner_.integer("the number of a dtype"));
      if (code < 0 || code > 255) return scanner_.error_at(at, "0 to 255");
      constant.dtype = static_cast<DType>(code);
      REPRISE_RETURN_IF_ERROR(scanner_.expect(')'));
    } else {
      const std::size_t at = scanner_.here();
      const std::string_view word = scanner_.word();
      auto dtype = dtype_from_short_name(word);
      if (!dtype) dtype = dtype_from_name(word);
      if (!dtype) return scanner_.error_at(at, "a dtype such as f32");
      constant.dtype = *dtype;
    }
    out_.data.constants.push_back(constant);
    return {};
  }

  Result<std::int32_t> int32(std::string_view wanted) {
    const std::size_t at = scanner_.here();
    REPRISE_ASSIGN(const std::int64_t value, scanner_.integer(wanted));
    if (value < kMinInt32 || value > kMaxInt32) return scanner_.error_at(at, "an integer of 32 bits");
    return static_cast<std::int32_t>(value);
  }

  // Instructions up to and with the line `return`.
  Status list(std::vector<Instruction>& instructions, std::vector<Ref>& outputs, int depth) {
    std::size_t results = 0;
    while (true) {
      scanner_.skip_empty_lines();
      if (scanner_.take_word("return")) {
        REPRISE_RETURN_IF_ERROR(refs(outputs));
        return scanner_.end_line(outputs.empty() ? kOperand : "',' or end of line");
      }
      if (scanner_.at_text_end() || scanner_.next_is('}')) return scanner_.error("an instruction or 'return'");
      const std::string_view word = scanner_.peek_word();
      if (declares(word, "cap") || declares(word, "const")) {
        return scanner_.error("an instruction or 'return': captures and constants come before all instructions");
      }
      REPRISE_ASSIGN(Instruction instruction, this->instruction(results, depth));
      instructions.push_back(std::move(instruction));
    }
  }

  Result<Instruction> instruction(std::size_t& results, int depth) {
    Instruction out;
    const std::size_t start = scanner_.here();
    REPRISE_ASSIGN(const std::size_t given, result_names(results));
    results += given;
    const std::size_t name_at = scanner_.here();
    if (scanner_.next_is('"')) {
      REPRISE_ASSIGN(out.op, scanner_.string());
    } else {
      out.op = std::string(scanner_.word());
      if (out.op.empty()) return scanner_.error(given > 0 ? "the name of an op" : "an instruction or 'return'");
    }
    const ops::OpDef* op = ops::find_def(out.op);
    if (scanner_.peek_word() != "attrs") REPRISE_RETURN_IF_ERROR(refs(out.operands));
    REPRISE_RETURN_IF_ERROR(attributes(out, op, name_at));
    if (scanner_.take('{')) REPRISE_RETURN_IF_ERROR(subprograms(out, op, depth));
    REPRISE_RETURN_IF_ERROR(annotation());
    REPRISE_RETURN_IF_ERROR(scanner_.end_line("',', '{', 'attrs', ':' or end of line"));
    const auto wanted = count_results(op, out.attrs, out.operands.size());
    if (wanted && *wanted != given) {
      return scanner_.message_at(start,
                                 fmt::format("seen {} results, wanted {}: that many {} has", given, *wanted, op->name));
    }
    return out;
  }

  // `%3, %4 =`, or nothing for an instruction without results.
  Result<std::size_t> result_names(std::size_t next) {
    std::size_t given = 0;
    if (!scanner_.next_is('%')) return given;
    do {
      const std::size_t at = scanner_.here();
      REPRISE_ASSIGN(const Ref ref, this->ref());
      if (ref != result(static_cast<std::int64_t>(next + given))) {
        return scanner_.error_at(at, fmt::format("'%{}', the next result of this list", next + given));
      }
      ++given;
    } while (scanner_.take(','));
    if (!scanner_.take('=')) return scanner_.error("',' or '='");
    return given;
  }

  // Attributes in either form. Where there are none, the op's defaults.
  Status attributes(Instruction& out, const ops::OpDef* op, std::size_t name_at) {
    if (scanner_.take_word("attrs")) {
      REPRISE_ASSIGN(out.attrs, parse_raw_attrs(scanner_));
      return {};
    }
    if (scanner_.next_is('{')) {
      Scanner inside = scanner_;
      inside.take('{');
      if (!inside.at_line_end()) {
        if (!op) return scanner_.error_at(name_at, "an op that is known, for named attributes" + nearest(out.op));
        scanner_ = inside;
        REPRISE_ASSIGN(out.attrs, parse_named_attrs(scanner_, *op));
        return {};
      }
    }
    if (op && op->attrs) {
      auto defaults = ops::attrs_from_named(*op->attrs, {});
      if (!defaults) return scanner_.wrap_at(name_at, op->name, defaults.error());
      out.attrs = *std::move(defaults);
    }
    return {};
  }

  static std::string nearest(std::string_view name) {
    std::vector<std::string_view> known;
    for (const ops::OpDef* def : ops::all_defs()) known.push_back(def->name);
    return suggest(name, known);
  }

  // After the brace that ends the instruction's line.
  Status subprograms(Instruction& out, const ops::OpDef* op, int depth) {
    if (depth >= kMaxNesting) {
      return scanner_.message_at(scanner_.here(), fmt::format("lists nest deeper than {}", kMaxNesting));
    }
    REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    const bool loop = op && has(op->traits, ops::Trait::control);
    while (true) {
      scanner_.skip_empty_lines();
      if (scanner_.take('}')) return {};
      const std::size_t nth = out.subprograms.size();
      const std::string_view wanted = loop && nth == 0 ? "cond" : loop && nth == 1 ? "body" : "sub";
      if (!scanner_.take_word(wanted)) return scanner_.error(fmt::format("'{}' or '}}'", wanted));
      REPRISE_RETURN_IF_ERROR(scanner_.expect('{'));
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
      SubProgram& sub = out.subprograms.emplace_back();
      REPRISE_RETURN_IF_ERROR(list(sub.instructions, sub.outputs, depth + 1));
      scanner_.skip_empty_lines();
      REPRISE_RETURN_IF_ERROR(scanner_.expect('}'));
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    }
  }

  // `: f32[8], s32[]`. Inference knows better, so the types are only looked at.
  Status annotation() {
    if (!scanner_.take(':')) return {};
    do {
      auto type = parse_type(scanner_);
      if (!type) return type.error();
    } while (scanner_.take(','));
    return {};
  }

  // What may follow the outputs.
  Status tail() {
    scanner_.skip_empty_lines();
    ProgramData& data = out_.data;
    if (scanner_.take_word("keep")) {
      REPRISE_RETURN_IF_ERROR(refs(data.outputs));
      REPRISE_RETURN_IF_ERROR(scanner_.end_line(kOperand));
      scanner_.skip_empty_lines();
    }
    if (scanner_.take_word("num_real_outputs")) {
      REPRISE_ASSIGN(data.num_real_outputs, int32("a number of outputs"));
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
      scanner_.skip_empty_lines();
    }
    if (!scanner_.at_text_end()) return scanner_.error("end of text");
    return {};
  }

  // Operands separated by commas; none if the line goes on with something else.
  Status refs(std::vector<Ref>& out) {
    if (scanner_.at_line_end() || scanner_.next_is('{') || scanner_.next_is(':')) return {};
    do {
      REPRISE_ASSIGN(const Ref ref, this->ref());
      out.push_back(ref);
    } while (scanner_.take(','));
    return {};
  }

  Result<Ref> ref() {
    static constexpr std::pair<std::string_view, RefKind> kPrefixes[] = {{"%", RefKind::result},
                                                                         {"in", RefKind::input},
                                                                         {"const", RefKind::constant},
                                                                         {"carry", RefKind::carry},
                                                                         {"cap", RefKind::capture}};
    const std::size_t at = scanner_.here();
    if (scanner_.take_word("ref")) return unknown_ref();
    for (const auto& [prefix, kind] : kPrefixes) {
      if (scanner_.peek_raw(prefix.size()) != prefix) continue;
      scanner_.advance(prefix.size());
      const std::string_view token = scanner_.peek_raw(21);  // the longest int64 has 20 characters
      std::int64_t index = 0;
      const auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), index);
      const auto length = static_cast<std::size_t>(end - token.data());
      if (status == std::errc::result_out_of_range) return scanner_.error_at(at, "an index of 64 bits");
      if (status != std::errc() || (length < token.size() && is_word_char(token[length]))) break;
      scanner_.advance(length);
      return Ref{kind, index};
    }
    return scanner_.error_at(at, kOperand);
  }

  // `ref(9, 5)`: a reference of a kind that does not exist.
  Result<Ref> unknown_ref() {
    REPRISE_RETURN_IF_ERROR(scanner_.expect('('));
    const std::size_t at = scanner_.here();
    REPRISE_ASSIGN(const std::int64_t kind, scanner_.integer("the number of a reference kind"));
    if (kind < 0 || kind > 255) return scanner_.error_at(at, "0 to 255");
    REPRISE_RETURN_IF_ERROR(scanner_.expect(','));
    REPRISE_ASSIGN(const std::int64_t index, scanner_.integer("an index"));
    REPRISE_RETURN_IF_ERROR(scanner_.expect(')'));
    return Ref{static_cast<RefKind>(kind), index};
  }

  Scanner scanner_;
  ParsedText out_;
};

}  // namespace

Result<ParsedText> parse_text(std::string_view text) { return Parser(text).run(); }

Result<Program> bind_captures(ParsedText parsed, std::span<const Capture> captures) {
  auto& declared = parsed.data.captures;
  if (captures.size() != declared.size()) {
    return make_error(ErrorCode::invalid_argument, "{} captures given; the text declares {}", captures.size(),
                      declared.size());
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const Capture& given = captures[i];
    const auto& type = parsed.captures[i];
    if (!type) {
      if (given.value) return make_error(ErrorCode::invalid_argument, "cap{}: an array is given; wanted none", i);
      continue;
    }
    if (!given.value) {
      return make_error(ErrorCode::invalid_argument, "cap{}: no array is given; wanted {}", i, to_string(*type));
    }
    if (!given.name.empty() && given.name != declared[i].name) {
      return make_error(ErrorCode::invalid_argument, "cap{}: the array given is called \"{}\"; wanted \"{}\"", i,
                        printable(given.name), printable(declared[i].name));
    }
    if (given.type() != *type) {
      return make_error(ErrorCode::invalid_argument, "cap{} \"{}\": the array is {}; wanted {}", i,
                        printable(declared[i].name), to_string(given.type()), to_string(*type));
    }
    declared[i].value = given.value;
  }
  return Program(std::move(parsed.data));
}

}  // namespace reprise::text

namespace reprise {

Result<Program> parse_program(std::string_view text, std::span<const Capture> captures) {
  REPRISE_ASSIGN(text::ParsedText parsed, text::parse_text(text));
  return text::bind_captures(std::move(parsed), captures);
}

}  // namespace reprise
