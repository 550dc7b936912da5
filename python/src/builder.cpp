#include "reprise/builder.hpp"

#include "base/format.hpp"
#include "bindings.hpp"
#include "program/array_access.hpp"
#include "reprise/ops.hpp"

namespace reprise::python {
namespace {

/// reprise.Value: knows its builder, so that operators can write numbers as constants.
struct PyValue {
  std::shared_ptr<Builder> builder;
  Value value;
};
struct PyBuilder {
  std::shared_ptr<Builder> builder = std::make_shared<Builder>();
};

/// Raises a mistake where it was made. It stays: build() would raise it again.
template <typename T>
T or_raise(const Builder& builder, bool was_good, T result) {
  if (was_good && builder.error()) raise(*builder.error());
  return result;
}

Constant to_constant(nb::handle number, std::optional<DType> dtype) {
  nb::object value = nb::borrow(number);
  // NumPy's scalars, and arrays of one element, bring their dtype.
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item")) {
    if (!dtype) dtype = to_dtype(value.attr("dtype"));
    value = value.attr("item")();
  }
  PyObject* p = value.ptr();
  if (PyBool_Check(p)) return Constant::of(std::int64_t{p == Py_True}, dtype.value_or(DType::bool_));
  if (PyLong_Check(p)) {
    std::int64_t i = 0;
    if (nb::try_cast(value, i)) {
      return Constant::of(i, dtype.value_or(i == static_cast<std::int32_t>(i) ? DType::int32 : DType::int64));
    }
    std::uint64_t u = 0;
    if (nb::try_cast(value, u)) return Constant::of(u, dtype.value_or(DType::uint64));
    raise(make_error(ErrorCode::invalid_argument, "the integer {} does not fit 64 bits", from_str(value)));
  }
  if (PyFloat_Check(p)) return Constant::of(PyFloat_AsDouble(p), dtype.value_or(DType::float32));
  if (PyComplex_Check(p)) {
    return Constant::of(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)),
                        dtype.value_or(DType::complex64));
  }
  throw nb::type_error(fmt::format("wanted a reprise.Value or a number; got {}", type_name_of(value)).c_str());
}

Value to_value(Builder& builder, nb::handle object) {
  if (nb::isinstance<PyValue>(object)) return nb::cast<const PyValue&>(object).value;
  return builder.constant(to_constant(object, std::nullopt));
}

template <typename Objects>
Builder::Values to_values(Builder& builder, const Objects& objects) {
  Builder::Values out;
  for (const nb::handle object : objects) out.push_back(to_value(builder, object));
  return out;
}

AttrValue to_attr(std::string_view op, const std::string& key, std::string_view kind, nb::handle value) {
  PyObject* p = value.ptr();
  if (kind == "dtype") return AttrValue(to_dtype(value));
  if (kind == "tensor types") return AttrValue(to_tensor_types(value));
  if (PyBool_Check(p)) return AttrValue(p == Py_True);
  if (nb::isinstance<nb::str>(value)) return AttrValue(from_str(value));
  if (PyFloat_Check(p)) return AttrValue(PyFloat_AsDouble(p));
  if (nb::hasattr(value, "item") && nb::hasattr(value, "shape") && nb::len(nb::object(value.attr("shape"))) == 0) {
    return to_attr(op, key, kind, nb::object(value.attr("item")()));
  }
  if (nb::hasattr(value, "__iter__")) return AttrValue(to_integers(value));
  if (PyIndex_Check(p)) return AttrValue(to_integers(nb::make_tuple(value))[0]);
  throw nb::type_error(fmt::format("{}: attribute '{}' is of the type {}; wanted {}", op, key, type_name_of(value),
                                   kind.empty() ? "a bool, an int, a float, a str or a list of int" : kind)
                           .c_str());
}

Builder::Attrs to_attrs(std::string_view op, const nb::kwargs& kwargs) {
  const OpInfo* info = find_op(op);
  Builder::Attrs attrs;
  for (const auto& [key, value] : kwargs) {
    std::string name = from_str(key);
    std::string_view kind;
    if (info) {
      for (const AttributeInfo& a : info->attributes) {
        if (a.name == name) kind = a.kind;
      }
    }
    AttrValue attr = to_attr(op, name, kind, value);
    attrs.push_back({std::move(name), std::move(attr)});
  }
  return attrs;
}

template <typename Operands>
PyValue write(const std::shared_ptr<Builder>& builder, std::string_view op, const Operands& operands,
              const nb::kwargs& attrs) {
  const bool was_good = !builder->error();
  return {builder, or_raise(*builder, was_good, builder->op(op, to_values(*builder, operands), to_attrs(op, attrs)))};
}

std::vector<PyValue> wrap(const std::shared_ptr<Builder>& builder, const Builder::Values& values) {
  std::vector<PyValue> out;
  for (const Value& value : values) out.push_back({builder, value});
  return out;
}

template <typename Operands>
std::vector<PyValue> write_all(const std::shared_ptr<Builder>& builder, std::string_view op, const Operands& operands,
                               const nb::kwargs& attrs) {
  const bool was_good = !builder->error();
  return wrap(builder,
              or_raise(*builder, was_good, builder->ops(op, to_values(*builder, operands), to_attrs(op, attrs))));
}

Value matmul(Builder& builder, const Value& a, const Value& b) {
  const bool was_good = !builder.error();
  return or_raise(builder, was_good, builder.matmul(a, b));
}

/// Value OP other, or other OP Value when `swapped`.
template <typename Class>
void def_binary(Class& type, const char* method, const char* op, bool swapped = false) {
  const std::string signature = fmt::format("def {}(self, other: Value | complex, /) -> Value", method);
  type.def(
      method,
      [op, swapped](const PyValue& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyValue>(other) && PyNumber_Check(other.ptr()) == 0) return nb::borrow(Py_NotImplemented);
        const Value b = to_value(*self.builder, other);
        const Builder::Values operands = swapped ? Builder::Values{b, self.value} : Builder::Values{self.value, b};
        const bool was_good = !self.builder->error();
        return nb::cast(PyValue{self.builder, or_raise(*self.builder, was_good, self.builder->op(op, operands))});
      },
      nb::sig(signature.c_str()));
}

template <typename Class>
void def_unary(Class& type, const char* method, const char* op) {
  type.def(method, [op](const PyValue& self) {
    const bool was_good = !self.builder->error();
    return PyValue{self.builder, or_raise(*self.builder, was_good, self.builder->op(op, {self.value}))};
  });
}

void bind_value(nb::module_& module) {
  nb::class_<PyValue> type(module, "Value",
                           "An array of the program that is being built. The operators write instructions; a number "
                           "beside a Value is a constant: bool, int32 (int64 where it needs it), float32 or complex64, "
                           "whatever the Value is. // and % are missing on purpose: quotient and remainder truncate.");
  constexpr std::pair<const char*, const char*> kArithmetic[] = {
      {"add", "add"},           {"sub", "subtract"},      {"mul", "multiply"},  {"truediv", "divide"},
      {"pow", "pow"},           {"and", "bitwise_and"},   {"or", "bitwise_or"}, {"xor", "bitwise_xor"},
      {"lshift", "left_shift"}, {"rshift", "right_shift"}};
  for (const auto& [method, op] : kArithmetic) {
    def_binary(type, fmt::format("__{}__", method).c_str(), op);
    def_binary(type, fmt::format("__r{}__", method).c_str(), op, true);
  }
  constexpr std::pair<const char*, const char*> kComparisons[] = {{"__eq__", "equal"},   {"__ne__", "not_equal"},
                                                                  {"__lt__", "less"},    {"__le__", "less_equal"},
                                                                  {"__gt__", "greater"}, {"__ge__", "greater_equal"}};
  for (const auto& [method, op] : kComparisons) def_binary(type, method, op);
  def_unary(type, "__neg__", "negate");
  def_unary(type, "__abs__", "abs");
  def_unary(type, "__invert__", "bitwise_not");
  type.def("__matmul__", [](const PyValue& a, const PyValue& b) {
    return PyValue{a.builder, matmul(*a.builder, a.value, b.value)};
  });
  type.def(
      "__bool__",
      [](const PyValue&) -> bool {
        throw nb::type_error("a Value has no truth value while a program is built; see Builder.select and while_loop");
      },
      nb::sig("def __bool__(self) -> bool"));
  // == writes an instruction, so a Value cannot be told apart in a set or as a key.
  type.attr("__hash__") = nb::none();
}

/// "def sum(self, x: Value | complex, /, *, axes: Iterable[int], keep_axes: bool = False) -> Value"
std::string signature_of(const OpInfo& op) {
  std::string text = fmt::format("def {}(self", op.name);
  bool is_open = false;  // any number of operands
  bool has_named = false;
  for (const OperandInfo& info : op.operands) {
    const std::string_view operand = info.name;
    const std::size_t end = operand.find_first_of(".?");
    const std::string_view bare = operand.substr(0, end);
    const std::string_view mark = end == std::string_view::npos ? "" : operand.substr(end);
    if (mark.starts_with("...")) {
      if (has_named) text += ", /";
      text += fmt::format(", *{}: Value | complex", bare);
      is_open = true;
    } else {
      text += fmt::format(", {}: Value | complex{}", bare, mark == "?" ? " | None = None" : "");
      has_named = true;
    }
  }
  if (!is_open) text += has_named ? ", /" : "";
  if (!op.attributes.empty() && !is_open) text += ", *";
  for (const AttributeInfo& a : op.attributes) {
    const std::string_view type = a.kind == "integer"        ? "int"
                                  : a.kind == "flag"         ? "bool"
                                  : a.kind == "real"         ? "float"
                                  : a.kind == "mode"         ? "str"
                                  : a.kind == "dtype"        ? "object"
                                  : a.kind == "tensor types" ? "collections.abc.Iterable[object]"
                                                             : "collections.abc.Iterable[int]";
    const std::string fallback = a.default_text == "true"    ? "True"
                                 : a.default_text == "false" ? "False"
                                 : a.default_text == "[]"    ? "()"
                                                             : a.default_text;
    text += fmt::format(", {}: {}{}", a.name, type, fallback.empty() ? "" : " = " + fallback);
  }
  return text + (op.results == "1" ? ") -> Value" : ") -> list[Value]");
}

std::string indented(std::string_view text) {
  std::string out = "    ";
  if (text.ends_with("\n")) text.remove_suffix(1);
  for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

std::string documentation_of(const OpInfo& op) {
  std::string text = fmt::format("{}\n\n{}\n", op.summary, op.rule);
  for (const OperandInfo& o : op.operands) text += fmt::format("\n{}: {}; {}", o.name, o.shape, o.dtype_words);
  for (const AttributeInfo& a : op.attributes) {
    text += fmt::format("\n{}: {}{}", a.name, a.summary, a.range.empty() ? "" : fmt::format(" ({})", a.range));
  }
  text += fmt::format("\n\nGives: {}", op.result);
  if (!op.errors.empty()) text += fmt::format("\nErrors: {}", op.errors);
  if (!op.tolerance.empty()) text += fmt::format("\nPrecision: {}", op.tolerance);
  if (!op.example.empty()) text += fmt::format("\n\nIn the text form:\n\n{}", indented(op.example));
  return text;
}

/// Operands as given; an optional one at the end may be None.
std::vector<nb::handle> present(const nb::args& args) {
  std::vector<nb::handle> out(args.begin(), args.end());
  while (!out.empty() && out.back().is_none()) out.pop_back();
  return out;
}

template <typename Class>
void def_op(Class& type, const OpInfo& op) {
  const std::string name(op.name);
  const std::string signature = signature_of(op);
  const std::string documentation = documentation_of(op);
  const OpInfo* info = &op;  // rows live as long as the process
  if (op.results == "1") {
    type.def(
        name.c_str(),
        [info](PyBuilder& b, const nb::args& args, const nb::kwargs& kwargs) {
          return write(b.builder, info->name, present(args), kwargs);
        },
        nb::sig(signature.c_str()), documentation.c_str());
  } else {
    type.def(
        name.c_str(),
        [info](PyBuilder& b, const nb::args& args, const nb::kwargs& kwargs) {
          return write_all(b.builder, info->name, present(args), kwargs);
        },
        nb::sig(signature.c_str()), documentation.c_str());
  }
}

Builder::Values to_slots(Builder& builder, nb::handle reply) {
  if (nb::isinstance<PyValue>(reply)) return {nb::cast<const PyValue&>(reply).value};
  return to_values(builder, reply);
}

std::vector<PyValue> while_loop(PyBuilder& self, nb::handle initial, const nb::callable& cond,
                                const nb::callable& body) {
  const std::shared_ptr<Builder>& builder = self.builder;
  const bool was_good = !builder->error();
  const auto call = [&](const nb::callable& function, std::span<const Value> carry) {
    const Builder::Values slots(carry.begin(), carry.end());
    return function(*nb::tuple(nb::cast(wrap(builder, slots))));
  };
  return wrap(
      builder,
      or_raise(*builder, was_good,
               builder->while_loop(
                   to_slots(*builder, initial),
                   [&](Builder&, std::span<const Value> carry) { return to_value(*builder, call(cond, carry)); },
                   [&](Builder&, std::span<const Value> carry) { return to_slots(*builder, call(body, carry)); })));
}

Program build(PyBuilder& self, nb::handle outputs, nb::handle keep) {
  return unwrap(self.builder->build(to_slots(*self.builder, outputs), to_slots(*self.builder, keep)));
}

}  // namespace

void bind_builder(nb::module_& module) {
  bind_value(module);
  nb::class_<PyBuilder> type(
      module, "Builder",
      "Writes a program. Every op of the table is a method: operands first, attributes by name. A mistake raises "
      "reprise.Error where it is made, and once more in build().\n\n"
      "    b = reprise.Builder()\n"
      "    x = b.input()\n"
      "    y = b.tanh(x * 2.0 + 1.0)\n"
      "    program = b.build([y, b.sum(y, axes=[0])])");
  type.def(nb::init<>())
      .def(
          "input",
          [](PyBuilder& b) {
            const bool was_good = !b.builder->error();
            return PyValue{b.builder, or_raise(*b.builder, was_good, b.builder->input())};
          },
          "The next input. Not inside a loop.")
      .def(
          "capture",
          [](PyBuilder& b, nb::handle array, const std::string& name) {
            const Imported value = import_array(array, Share::no);
            const bool was_good = !b.builder->error();
            return PyValue{b.builder, or_raise(*b.builder, was_good, b.builder->capture(value.array, name))};
          },
          nb::arg("array"), nb::arg("name") = "", nb::sig("def capture(self, array: object, name: str = '') -> Value"),
          "An array that the program closes over; its values are copied now.")
      .def(
          "constant",
          [](PyBuilder& b, nb::handle value, nb::handle dtype) {
            const auto wanted = dtype.is_none() ? std::nullopt : std::optional(to_dtype(dtype));
            return PyValue{b.builder, b.builder->constant(to_constant(value, wanted))};
          },
          nb::arg("value"), nb::arg("dtype") = nb::none(),
          nb::sig("def constant(self, value: complex, dtype: object = None) -> Value"),
          "A scalar. Without a dtype: bool, int32 (int64 where it needs it), float32 or complex64.")
      .def(
          "op",
          [](PyBuilder& b, const std::string& name, nb::handle operands, const nb::kwargs& attrs) {
            return write(b.builder, name, operands, attrs);
          },
          nb::arg("name"), nb::arg("operands"), nb::arg("attrs"),
          nb::sig("def op(self, name: str, operands: collections.abc.Iterable[Value | complex], /, **attrs: object) -> "
                  "Value"),
          "One instruction of any op that has one result; attributes by name, those with defaults may be left out.")
      .def(
          "ops",
          [](PyBuilder& b, const std::string& name, nb::handle operands, const nb::kwargs& attrs) {
            return write_all(b.builder, name, operands, attrs);
          },
          nb::arg("name"), nb::arg("operands"), nb::arg("attrs"),
          nb::sig(
              "def ops(self, name: str, operands: collections.abc.Iterable[Value | complex], /, **attrs: object) -> "
              "list[Value]"),
          "One instruction of any op; all its results.")
      .def(
          "matmul",
          [](PyBuilder& b, const PyValue& x, const PyValue& y) {
            return PyValue{b.builder, matmul(*b.builder, x.value, y.value)};
          },
          nb::arg("a"), nb::arg("b"), "Matrix product of two arrays of rank 2; a @ b is the same.")
      .def("while_loop", while_loop, nb::arg("initial"), nb::arg("cond"), nb::arg("body"),
           nb::sig("def while_loop(self, initial: Value | collections.abc.Iterable[Value | complex], "
                   "cond: collections.abc.Callable[..., Value], "
                   "body: collections.abc.Callable[..., Value | collections.abc.Iterable[Value | complex]]) -> "
                   "list[Value]"),
           "Repeats body(*carry), which gives the next carry, while cond(*carry) holds; gives the last carry. Both see "
           "the carry, captures and constants, and nothing else of the program.")
      .def("build", build, nb::arg("outputs"), nb::arg("keep") = nb::make_tuple(),
           nb::sig("def build(self, outputs: Value | collections.abc.Iterable[Value | complex], "
                   "keep: Value | collections.abc.Iterable[Value | complex] = ()) -> Program"),
           "The program with these outputs, verified. `keep` are values that are computed but not given out, such as "
           "the results of a runtime_call that matters for what it does.");
  for (const OpInfo& op : op_table()) {
    if (op.name != "while") def_op(type, op);
  }
}

}  // namespace reprise::python
