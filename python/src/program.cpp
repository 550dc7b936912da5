#include "base/format.hpp"
#include "bindings.hpp"
#include "io/wire/wire.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "reprise/text.hpp"

namespace reprise::python {
namespace {

nb::object shape_tuple(const TensorType& type) { return nb::tuple(nb::cast(type.shape)); }

nb::list faults(const Program& program) {
  std::vector<Error> found;
  static_cast<void>(verify(program, &found));
  nb::list out;
  for (const Error& e : found) out.append(to_str(e.message()));
  return out;
}

std::vector<TensorType> check(const Program& program, nb::handle inputs) {
  const auto verified = std::make_shared<const VerifiedProgram>(unwrap(verify(program)));
  if (inputs.is_none()) return {};
  const TypedProgram typed = unwrap(infer(verified, to_tensor_types(inputs)));
  std::vector<TensorType> out;
  for (std::int32_t i = 0; i < program->num_real_outputs; ++i) {
    out.push_back(typed.type_of(program->outputs[static_cast<std::size_t>(i)]));
  }
  return out;
}

Program load(nb::handle path) {
  const std::string name = to_path(path);
  std::optional<Result<Program>> program;
  {
    const WithoutGil released;
    program = read_program(name);
  }
  return unwrap(*std::move(program));
}

void save(const Program& program, nb::handle path) {
  const std::string name = to_path(path);
  std::optional<Status> status;
  {
    const WithoutGil released;
    status = write_program(name, program);
  }
  unwrap(*status);
}

nb::bytes to_wire(const Program& program) {
  const std::string bytes = unwrap(wire::encode_term(unwrap(wire::encode_program(program, wire::capture_index))));
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<Capture> to_captures(nb::handle objects) {
  std::vector<Capture> out;
  for (const nb::handle item : objects) {
    if (nb::isinstance<nb::tuple>(item) && nb::len(item) == 2 && nb::isinstance<nb::str>(item[0])) {
      const nb::object array = item[1];
      out.push_back(unwrap(make_capture(import_array(array, Share::no).array, from_str(nb::object(item[0])))));
    } else {
      out.push_back(unwrap(make_capture(import_array(item, Share::no).array)));
    }
  }
  return out;
}

Program from_wire(const nb::bytes& bytes, nb::handle captures) {
  const std::vector<Capture> given = to_captures(captures);
  const wire::Term term = unwrap(wire::decode_term(std::string_view(bytes.c_str(), bytes.size())));
  return unwrap(wire::decode_program(term, wire::captures_by_index(given)));
}

Program parse(const std::string& text, nb::handle captures) {
  return unwrap(parse_program(text, to_captures(captures)));
}

nb::list captures_of(const Program& program) {
  nb::list out;
  for (const Capture& c : program->captures) out.append(nb::make_tuple(to_str(c.name), Array{*c.value}));
  return out;
}

}  // namespace

std::vector<std::int64_t> to_integers(nb::handle object) {
  std::vector<std::int64_t> out;
  for (const nb::handle item : object) {
    const nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index) throw nb::python_error();
    std::int64_t i = 0;
    if (!nb::try_cast(index, i)) {
      raise(make_error(ErrorCode::invalid_argument, "the integer {} does not fit 64 bits", from_str(index)));
    }
    out.push_back(i);
  }
  return out;
}

TensorType to_tensor_type(nb::handle object) {
  if (nb::isinstance<TensorType>(object)) return nb::cast<TensorType>(object);
  if (nb::isinstance<Array>(object)) return type_of(nb::cast<const Array&>(object).get());
  if (nb::isinstance<nb::tuple>(object) && nb::len(object) == 2) {
    return {to_dtype(nb::object(object[0])), to_integers(nb::object(object[1]))};
  }
  if (nb::hasattr(object, "dtype") && nb::hasattr(object, "shape")) {
    return {to_dtype(object.attr("dtype")), to_integers(object.attr("shape"))};
  }
  throw nb::type_error("wanted a reprise.TensorType, a pair (dtype, shape) or an array");
}

std::vector<TensorType> to_tensor_types(nb::handle objects) {
  std::vector<TensorType> out;
  for (const nb::handle object : objects) out.push_back(to_tensor_type(object));
  return out;
}

void bind_program(nb::module_& module) {
  nb::class_<TensorType>(module, "TensorType", "Element type and shape of an array. str() gives 'f32[2, 3]'.")
      .def(
          "__init__",
          [](TensorType* self, nb::handle dtype, nb::handle shape) {
            new (self) TensorType{to_dtype(dtype), to_integers(shape)};
          },
          nb::arg("dtype"), nb::arg("shape"),
          nb::sig("def __init__(self, dtype: object, shape: collections.abc.Iterable[int]) -> None"))
      .def_prop_ro(
          "dtype", [](const TensorType& t) { return std::string(name(t.dtype)); }, "Such as 'float32'.")
      .def_prop_ro("shape", shape_tuple, nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes.")
      .def(
          "__eq__",
          [](const TensorType& a, nb::handle b) -> nb::object {
            if (!nb::isinstance<TensorType>(b)) return nb::borrow(Py_NotImplemented);
            return nb::bool_(a == nb::cast<const TensorType&>(b));
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const TensorType& t) { return nb::hash(nb::str(to_string(t).c_str())); })
      .def("__str__", [](const TensorType& t) { return to_string(t); })
      .def("__repr__", [](const TensorType& t) {
        return fmt::format("reprise.TensorType('{}', {})", name(t.dtype), from_str(nb::repr(shape_tuple(t))));
      });

  nb::class_<Program>(module, "Program",
                      "A flat list of tensor instructions over inputs, captured arrays and constants. It cannot be "
                      "changed. str() gives its text form.")
      .def_static("parse", parse, nb::arg("text"), nb::arg("captures") = nb::make_tuple(),
                  nb::sig("def parse(text: str, captures: collections.abc.Iterable[object] = ()) -> Program"),
                  "Reads the text form. `captures` are the arrays that it declares as cap0, cap1, ...: arrays or pairs "
                  "(name, array). Errors: 'parse' with line and column; 'invalid_argument' for captures that do not "
                  "fit. The program need not be valid: check() and compile() judge that.")
      .def_static("load", load, nb::arg("path"), nb::sig("def load(path: str | os.PathLike[str]) -> Program"),
                  "Reads NAME.rp, and its captures from NAME.safetensors beside it if it declares any.")
      .def("save", save, nb::arg("path"), nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
           "Writes NAME.rp, and NAME.safetensors beside it if the program has captures.")
      .def_static("from_wire", from_wire, nb::arg("data"), nb::arg("captures") = nb::make_tuple(),
                  nb::sig("def from_wire(data: bytes, captures: collections.abc.Iterable[object] = ()) -> Program"),
                  "Reads the Erlang external term form, whose captures are {capture, Index} into `captures`.")
      .def("to_wire", to_wire, "The Erlang external term form; captures are {capture, Index}.")
      .def("check", check, nb::arg("inputs") = nb::none(),
           nb::sig("def check(self, inputs: collections.abc.Iterable[object] | None = None) -> list[TensorType]"),
           "Raises reprise.Error with all faults of a program that breaks the contract. Given the types of the inputs "
           "(TensorType, pairs (dtype, shape) or arrays), works out every type, and gives those of the outputs.")
      .def("faults", faults, nb::sig("def faults(self) -> list[str]"),
           "All faults that can be found without knowing shapes, one text each; none: [].")
      .def_prop_ro(
          "text", [](const Program& p) { return to_str(print_program(p)); }, "The text form.")
      .def_prop_ro(
          "n_inputs", [](const Program& p) { return p->num_inputs; }, "How many inputs it takes.")
      .def_prop_ro(
          "n_outputs", [](const Program& p) { return p->num_real_outputs; }, "How many outputs it gives.")
      .def_prop_ro("captures", captures_of, nb::sig("def captures(self) -> list[tuple[str, Array]]"),
                   "Names and values of the captured arrays.")
      .def(
          "__len__", [](const Program& p) { return p->instructions.size(); }, "How many instructions it has.")
      .def("__bool__", [](const Program&) { return true; })
      .def(
          "__eq__",
          [](const Program& a, nb::handle b) -> nb::object {
            if (!nb::isinstance<Program>(b)) return nb::borrow(Py_NotImplemented);
            return nb::bool_(a == nb::cast<const Program&>(b));
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Program& p) { return nb::hash(to_str(print_program(p))); })
      .def("__str__", [](const Program& p) { return to_str(print_program(p)); })
      .def("__repr__", [](const Program& p) {
        return fmt::format("<reprise.Program: {} inputs, {} instructions, {} outputs>", p->num_inputs,
                           p->instructions.size(), p->num_real_outputs);
      });
}

}  // namespace reprise::python
