#include "conformance/case_file.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "io/text/parse.hpp"
#include "ops/registry.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::conformance {
namespace {

namespace mx = mlx::core;
using text::Scanner;

class CaseParser {
 public:
  explicit CaseParser(std::string_view text) : text_(text), scanner_(text) {}

  Result<std::vector<Case>> run() {
    std::vector<Case> out;
    while (true) {
      scanner_.skip_empty_lines();
      if (scanner_.at_text_end()) return out;
      REPRISE_ASSIGN(Case one, next());
      out.push_back(std::move(one));
    }
  }

 private:
  Result<Case> next() {
    Case out;
    const std::size_t start = scanner_.here();
    out.line = 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + static_cast<long>(start), '\n'));
    if (scanner_.take_word("program")) {
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
      REPRISE_RETURN_IF_ERROR(program(out));
    } else if (scanner_.take_word("case")) {
      REPRISE_RETURN_IF_ERROR(op(out));
    } else {
      return scanner_.error("'case' and an op, or 'program'");
    }
    REPRISE_RETURN_IF_ERROR(arrays(out));
    if (out.says.empty() == out.outputs.empty()) {
      return scanner_.message_at(start, "a case needs 'out' lines or 'says'");
    }
    if (out.near && !out.op.empty()) {
      return scanner_.message_at(start, "'near' is for programs; an op's tolerance is in its row");
    }
    return out;
  }

  Status op(Case& out) {
    const std::size_t at = scanner_.here();
    out.op = scanner_.word();
    const ops::OpDef* def = ops::find_def(out.op);
    if (!def) return scanner_.error_at(at, "the name of an op");
    if (scanner_.take('{')) {
      REPRISE_ASSIGN(out.attrs, text::parse_named_attrs(scanner_, *def));
    } else if (scanner_.take_word("attrs")) {
      REPRISE_ASSIGN(out.attrs, text::parse_raw_attrs(scanner_));
    }
    return scanner_.end_line("'{' and attributes, or end of line");
  }

  Status program(Case& out) {
    while (true) {
      scanner_.skip_empty_lines();
      if (!scanner_.take('|')) return {};
      const std::size_t end = std::min(text_.find('\n', scanner_.here()), text_.size());
      const std::string_view line = scanner_.peek_raw(end - scanner_.here());
      out.text.append(line).append("\n");
      scanner_.advance(line.size());
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    }
  }

  Status arrays(Case& out) {
    while (true) {
      scanner_.skip_empty_lines();
      std::vector<Literal>* list = nullptr;
      if (scanner_.take_word("in")) {
        list = &out.inputs;
      } else if (scanner_.take_word("out")) {
        list = &out.outputs;
      } else if (scanner_.take_word("cap")) {
        list = &out.captures;
      } else if (scanner_.take_word("says")) {
        REPRISE_ASSIGN(out.says, scanner_.string());
      } else if (scanner_.take_word("near")) {
        REPRISE_ASSIGN(out.near, scanner_.real("a tolerance"));
      } else {
        return {};
      }
      if (list) {
        REPRISE_ASSIGN(Literal one, literal());
        list->push_back(std::move(one));
      }
      REPRISE_RETURN_IF_ERROR(scanner_.end_line("end of line"));
    }
  }

  Result<Literal> literal() {
    Literal out;
    REPRISE_ASSIGN(out.type, text::parse_type(scanner_));
    const auto count = element_count(out.type.shape);
    if (!count || *count > 1 << 24) return scanner_.error("a shape of at most 2^24 elements");
    const auto size = static_cast<std::size_t>(*count);
    if (scanner_.take_word("iota")) {
      for (std::int64_t i = 0; i < *count; ++i) out.elements.emplace_back(i);
    } else if (scanner_.next_is('[')) {
      const std::size_t start = scanner_.here();
      REPRISE_RETURN_IF_ERROR(list(out));
      if (out.elements.size() != size) {
        return scanner_.message_at(
            start, fmt::format("{} elements, but {} takes {}", out.elements.size(), to_string(out.type), size));
      }
    } else {
      REPRISE_ASSIGN(const Literal::Element value, element());
      out.elements.assign(size, value);
      out.filled = true;
    }
    return out;
  }

  // Nested as the reader likes: only the count is checked. Line ends may follow a bracket or a comma.
  Status list(Literal& out) {
    scanner_.take('[');
    scanner_.skip_empty_lines();
    if (scanner_.take(']')) return {};
    while (true) {
      scanner_.skip_empty_lines();
      if (scanner_.next_is('[')) {
        REPRISE_RETURN_IF_ERROR(list(out));
      } else {
        REPRISE_ASSIGN(const Literal::Element value, element());
        out.elements.push_back(value);
      }
      scanner_.skip_empty_lines();
      if (scanner_.take(']')) return {};
      if (!scanner_.take(',')) return scanner_.error("',' or ']'");
    }
  }

  Result<Literal::Element> element() {
    if (scanner_.take_word("true")) return Literal::Element(std::int64_t{1});
    if (scanner_.take_word("false")) return Literal::Element(std::int64_t{0});
    if (scanner_.take('(')) {
      REPRISE_ASSIGN(const double re, scanner_.real("the real part"));
      REPRISE_RETURN_IF_ERROR(scanner_.expect(','));
      REPRISE_ASSIGN(const double im, scanner_.real("the imaginary part"));
      REPRISE_RETURN_IF_ERROR(scanner_.expect(')'));
      return Literal::Element(std::complex<double>(re, im));
    }
    REPRISE_ASSIGN(const Scanner::Number number, scanner_.number("a number, true, false or (re, im)"));
    return std::visit([](auto value) { return Literal::Element(value); }, number);
  }

  std::string_view text_;
  Scanner scanner_;
};

template <typename T>
T as(const Literal::Element& element) {
  return std::visit(
      [](auto value) -> T {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          return static_cast<T>(value.real());
        } else {
          return static_cast<T>(value);
        }
      },
      element);
}

template <typename T, typename Stored = T>
mx::array filled(const Literal& literal) {
  // Not std::vector: that of bool has no array of them.
  const auto values = std::make_unique<Stored[]>(literal.elements.size());
  for (std::size_t i = 0; i < literal.elements.size(); ++i) {
    values[i] = static_cast<Stored>(as<T>(literal.elements[i]));
  }
  return mx::array(values.get(), to_mlx(literal.type.shape), to_mlx(literal.type.dtype));
}

}  // namespace

mx::array to_array(const Literal& literal) {
  switch (literal.type.dtype) {
    case DType::bool_: return filled<bool>(literal);
    case DType::uint8: return filled<std::uint8_t>(literal);
    case DType::uint16: return filled<std::uint16_t>(literal);
    case DType::uint32: return filled<std::uint32_t>(literal);
    case DType::uint64: return filled<std::uint64_t>(literal);
    case DType::int8: return filled<std::int8_t>(literal);
    case DType::int16: return filled<std::int16_t>(literal);
    case DType::int32: return filled<std::int32_t>(literal);
    case DType::int64: return filled<std::int64_t>(literal);
    case DType::float16: return filled<float, mx::float16_t>(literal);
    case DType::bfloat16: return filled<float, mx::bfloat16_t>(literal);
    case DType::float32: return filled<float>(literal);
    case DType::float64: return filled<double>(literal);
    case DType::complex64: break;
  }
  std::vector<mx::complex64_t> values;
  for (const auto& element : literal.elements) {
    const auto* z = std::get_if<std::complex<double>>(&element);
    values.emplace_back(as<float>(element), z ? static_cast<float>(z->imag()) : 0.0f);
  }
  return mx::array(values.begin(), to_mlx(literal.type.shape), mx::complex64);
}

Result<std::vector<Case>> parse_cases(std::string_view text) { return CaseParser(text).run(); }

}  // namespace reprise::conformance
