#include <algorithm>

#include "base/format.hpp"
#include "base/suggest.hpp"
#include "io/text/parse.hpp"

namespace reprise::text {
namespace {

Result<std::vector<std::int64_t>> parse_integers(Scanner& scanner, std::string_view wanted) {
  std::vector<std::int64_t> out;
  if (!scanner.take('[')) return scanner.error(wanted);
  if (scanner.take(']')) return out;
  while (true) {
    REPRISE_ASSIGN(const std::int64_t value, scanner.integer("an integer"));
    out.push_back(value);
    if (scanner.take(']')) return out;
    if (!scanner.take(',')) return scanner.error("',' or ']'");
  }
}

Status check_range(const Scanner& scanner, const ops::Field& field, std::size_t position, std::int64_t value) {
  if (value >= field.min && value <= field.max) return {};
  return scanner.error_at(position, fmt::format("{} to {} for attribute '{}'", field.min, field.max, field.name));
}

Result<DType> parse_dtype(Scanner& scanner, std::string_view wanted) {
  const std::size_t start = scanner.here();
  const std::string_view word = scanner.word();
  auto dtype = dtype_from_name(word);
  if (!dtype) dtype = dtype_from_short_name(word);
  if (!dtype) return scanner.error_at(start, wanted);
  return *dtype;
}

Result<ops::Value> parse_list(Scanner& scanner, const ops::Field& field) {
  const std::size_t start = scanner.here();
  REPRISE_ASSIGN(ops::Ints list,
                 parse_integers(scanner, fmt::format("a list of integers for attribute '{}'", field.name)));
  for (const auto value : list) REPRISE_RETURN_IF_ERROR(check_range(scanner, field, start, value));
  return ops::Value(std::move(list));
}

Result<ops::Value> parse_types(Scanner& scanner, const ops::Field& field) {
  std::vector<TensorType> out;
  if (!scanner.take('[')) return scanner.error(fmt::format("a list of tensor types for attribute '{}'", field.name));
  if (scanner.take(']')) return ops::Value(std::move(out));
  while (true) {
    REPRISE_ASSIGN(TensorType type, parse_type(scanner));
    out.push_back(std::move(type));
    if (scanner.take(']')) return ops::Value(std::move(out));
    if (!scanner.take(',')) return scanner.error("',' or ']'");
  }
}

Result<ops::Value> parse_value(Scanner& scanner, const ops::Field& field) {
  const std::size_t start = scanner.here();
  const std::string wanted = fmt::format("{} for attribute '{}'", ops::kind_name(field), field.name);
  switch (field.kind) {
    case ops::FieldKind::integer: {
      REPRISE_ASSIGN(const std::int64_t value, scanner.integer(wanted));
      REPRISE_RETURN_IF_ERROR(check_range(scanner, field, start, value));
      return ops::Value(value);
    }
    case ops::FieldKind::flag: {
      if (scanner.take_word("true")) return ops::Value(true);
      if (scanner.take_word("false")) return ops::Value(false);
      REPRISE_ASSIGN(const std::int64_t value,
                     scanner.integer(fmt::format("true or false for attribute '{}'", field.name)));
      return ops::Value(value != 0);
    }
    case ops::FieldKind::real: {
      REPRISE_ASSIGN(const double value, scanner.real(wanted));
      return ops::Value(value);
    }
    case ops::FieldKind::dtype: {
      REPRISE_ASSIGN(const DType value, parse_dtype(scanner, wanted));
      return ops::Value(value);
    }
    case ops::FieldKind::mode: {
      const std::string_view word = scanner.word();
      if (!ops::quant_mode_from_name(word)) {
        return scanner.error_at(start, fmt::format("affine, mxfp4, mxfp8 or nvfp4 for attribute '{}'", field.name));
      }
      return ops::Value(Name{std::string(word)});
    }
    case ops::FieldKind::integers: return parse_list(scanner, field);
    case ops::FieldKind::types: return parse_types(scanner, field);
    case ops::FieldKind::count: break;
  }
  return Error(ErrorCode::internal, "attribute schema: a count has no value of its own");
}

}  // namespace

Result<TensorType> parse_type(Scanner& scanner) {
  const std::size_t start = scanner.here();
  TensorType type;
  REPRISE_ASSIGN(type.dtype, parse_dtype(scanner, "a tensor type such as f32[2, 3]"));
  if (!scanner.next_is('[')) return scanner.error_at(start, "a tensor type such as f32[2, 3]");
  REPRISE_ASSIGN(type.shape, parse_integers(scanner, "'['"));
  return type;
}

Result<std::vector<Attr>> parse_named_attrs(Scanner& scanner, const ops::OpDef& op) {
  const std::size_t start = scanner.here();
  std::vector<std::string_view> known;
  if (op.attrs) {
    for (const ops::Field& field : op.attrs->fields) {
      if (field.kind != ops::FieldKind::count) known.push_back(field.name);
    }
  }
  std::vector<std::pair<std::string, ops::Value>> named;
  for (bool more = !scanner.take('}'); more;) {
    const std::size_t at = scanner.here();
    const std::string key(scanner.word());
    if (known.empty()) return scanner.error_at(at, fmt::format("'}}': {} takes no attributes", op.name));
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return scanner.error_at(
          at, fmt::format("an attribute of {}: {}{}", op.name, fmt::join(known, ", "), suggest(key, known)));
    }
    // Names are known ones and distinct, so the list stays as short as the schema.
    if (std::any_of(named.begin(), named.end(), [&](const auto& n) { return n.first == key; })) {
      return scanner.error_at(at, "each attribute once");
    }
    REPRISE_RETURN_IF_ERROR(scanner.expect('='));
    const auto field = std::find_if(op.attrs->fields.begin(), op.attrs->fields.end(), [&](const ops::Field& f) {
      return f.kind != ops::FieldKind::count && f.name == key;
    });
    REPRISE_ASSIGN(ops::Value value, parse_value(scanner, *field));
    named.emplace_back(key, std::move(value));
    more = scanner.take(',');
    if (!more && !scanner.take('}')) return scanner.error("',' or '}'");
  }
  if (!op.attrs) return std::vector<Attr>{};
  auto attrs = ops::attrs_from_named(*op.attrs, named);
  if (!attrs) return scanner.wrap_at(start, op.name, attrs.error());
  return attrs;
}

Result<std::vector<Attr>> parse_raw_attrs(Scanner& scanner) {
  std::vector<Attr> out;
  REPRISE_RETURN_IF_ERROR(scanner.expect('('));
  if (scanner.take(')')) return out;
  while (true) {
    scanner.here();
    if (scanner.peek_raw(2) == "b\"") {
      scanner.advance(1);
      REPRISE_ASSIGN(std::string bytes, scanner.string());
      out.emplace_back(Bytes{std::move(bytes)});
    } else if (scanner.next_is('"')) {
      REPRISE_ASSIGN(std::string name, scanner.string());
      out.emplace_back(Name{std::move(name)});
    } else if (!scanner.peek_word().empty()) {
      out.emplace_back(Name{std::string(scanner.word())});
    } else {
      REPRISE_ASSIGN(const std::int64_t value, scanner.integer("an integer, a name or b\"bytes\""));
      out.emplace_back(value);
    }
    if (scanner.take(')')) return out;
    if (!scanner.take(',')) return scanner.error("',' or ')'");
  }
}

}  // namespace reprise::text
