#include "array.hpp"

#include <mlx/allocator.h>

#include <cstring>
#include <limits>
#include <vector>

#include "base/format.hpp"
#include "base/machine.hpp"
#include "base/printable.hpp"
#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::python {
namespace {

namespace mx = mlx::core;
using Code = nb::dlpack::dtype_code;

struct DlpackType {
  DType dtype;
  Code code;
};
constexpr DlpackType kDlpackTypes[] = {
    {DType::bool_, Code::Bool},      {DType::uint8, Code::UInt},        {DType::uint16, Code::UInt},
    {DType::uint32, Code::UInt},     {DType::uint64, Code::UInt},       {DType::int8, Code::Int},
    {DType::int16, Code::Int},       {DType::int32, Code::Int},         {DType::int64, Code::Int},
    {DType::float16, Code::Float},   {DType::float32, Code::Float},     {DType::float64, Code::Float},
    {DType::bfloat16, Code::Bfloat}, {DType::complex64, Code::Complex},
};

std::optional<DType> from_dlpack(nb::dlpack::dtype type) {
  for (const DlpackType& t : kDlpackTypes) {
    if (static_cast<std::uint8_t>(t.code) == type.code && 8 * size_of(t.dtype) == type.bits && type.lanes == 1) {
      return t.dtype;
    }
  }
  return std::nullopt;
}

nb::dlpack::dtype to_dlpack(DType dtype) {
  nb::dlpack::dtype out{0, static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  for (const DlpackType& t : kDlpackTypes) {
    if (t.dtype == dtype) out.code = static_cast<std::uint8_t>(t.code);
  }
  return out;
}

std::string text_of(nb::handle object) { return printable(from_str(object)); }

[[noreturn]] void raise_type(const std::string& text) { throw nb::type_error(text.c_str()); }

/// Elements somewhere in memory; strides in elements.
struct Elements {
  const char* data;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DType dtype;

  std::size_t count = 1;
  bool dense = true;  // row-major without gaps
};

// Counts, and refuses what cannot be an array of MLX or would not fit into memory once it is dense.
Elements checked(Elements e) {
  std::size_t bytes = size_of(e.dtype);
  bool is_empty = false;
  bool overflow = false;
  for (const std::int64_t dim : e.shape) {
    if (dim < 0 || dim > std::numeric_limits<mx::ShapeElem>::max()) {
      raise(make_error(ErrorCode::limit, "an array has the shape {}; wanted axes of 0 to {}", to_string(e.shape),
                       std::numeric_limits<mx::ShapeElem>::max()));
    }
    is_empty |= dim == 0;
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes);
  }
  if (is_empty) bytes = 0, overflow = false;
  if (overflow || bytes > static_cast<std::size_t>(machine_memory())) {
    raise(make_error(ErrorCode::limit, "{} takes {} bytes; this process may use {}",
                     to_string(TensorType{e.dtype, e.shape}), overflow ? "more than 2^64" : std::to_string(bytes),
                     machine_memory()));
  }
  e.count = bytes / size_of(e.dtype);
  std::int64_t expected = 1;
  for (std::size_t i = e.shape.size(); i-- > 0;) {
    if (e.shape[i] != 1 && e.strides[i] != expected) e.dense = false;
    expected *= e.shape[i];
  }
  if (is_empty) e.dense = true;
  return e;
}

Elements elements_of(const mx::array& array) {
  return checked({array.data<char>(),
                  {array.shape().begin(), array.shape().end()},
                  {array.strides().begin(), array.strides().end()},
                  from_mlx(array.dtype())});
}

mx::Shape mlx_shape(const Elements& e) { return to_mlx(Shape(e.shape.begin(), e.shape.end())); }

mx::array dense_copy(const Elements& e) {
  const std::size_t item = size_of(e.dtype);
  mx::allocator::Data data = mx::allocator::malloc(std::max<std::size_t>(e.count * item, 1));
  char* out = static_cast<char*>(mx::allocator::Buffer(data.buffer()).raw_ptr());
  if (e.dense) {
    if (e.count > 0) std::memcpy(out, e.data, e.count * item);
    return mx::array(std::move(data), mlx_shape(e), to_mlx(e.dtype));
  }
  std::vector<std::int64_t> index(e.shape.size(), 0);
  std::int64_t offset = 0;
  for (std::size_t n = 0; n < e.count; ++n) {
    std::memcpy(out + n * item, e.data + offset * static_cast<std::int64_t>(item), item);
    for (std::size_t i = e.shape.size(); i-- > 0;) {
      offset += e.strides[i];
      if (++index[i] < e.shape[i]) break;
      offset -= e.strides[i] * e.shape[i];
      index[i] = 0;
    }
  }
  return mx::array(std::move(data), mlx_shape(e), to_mlx(e.dtype));
}

// MLX's own way to take foreign memory copies it on the CPU. Its CPU allocator keeps a buffer's size in front of the
// memory, and a Buffer points there: so a Buffer that points in front of foreign memory serves. Of memory that it does
// not own, MLX reads the size in one place only, mx::contiguous, to choose between a view and a copy; any number will
// do there. Where the allocator is another one (CUDA), memory is copied.
constexpr std::size_t kHeader = sizeof(std::size_t);

bool can_lend() {
  static const bool possible = [] {
    const mx::allocator::Data probe = mx::allocator::malloc(64);
    mx::allocator::Buffer buffer = probe.buffer();
    return buffer.raw_ptr() == static_cast<char*>(buffer.ptr()) + kHeader &&
           mx::allocator::can_reuse_alien_buffer(buffer.raw_ptr());
  }();
  return possible;
}

bool is_aligned(const Elements& e) {
  const auto address = reinterpret_cast<std::uintptr_t>(e.data);
  // What is read as the size must exist; in front of the first page it need not.
  return address % (is_complex(e.dtype) ? size_of(e.dtype) / 2 : size_of(e.dtype)) == 0 && address % 4096 >= kHeader;
}

mx::array lend(const Elements& e, const Memory& memory) {
  auto* loan = new Loan{memory};
  void* front = const_cast<char*>(e.data) - kHeader;
  mx::allocator::Data data(mx::allocator::Buffer(front), [loan](mx::allocator::Buffer) { give_back(loan); });
  return mx::array(std::move(data), mlx_shape(e), to_mlx(e.dtype));
}

std::optional<Memory> memory_of(nb::handle object) {
  Memory memory;
  if (nb::hasattr(object, "__dlpack__")) {
    if (nb::hasattr(object, "mask")) raise_type("a masked array; wanted one without a mask, such as filled() gives");
    if (!nb::try_cast(object, memory)) return std::nullopt;
    return memory;
  }
  // What has a dtype says by it what its bytes mean; a buffer might not, as that of numpy.datetime64.
  if (nb::hasattr(object, "dtype") || PyObject_CheckBuffer(object.ptr()) == 0) return std::nullopt;
  // Not every buffer tells its strides though they are asked for; a memoryview does.
  const nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (!view) throw nb::python_error();
  if (!nb::try_cast(view, memory)) return std::nullopt;
  return memory;
}

Imported import_memory(const Memory& memory, std::optional<DType> known, Share share) {
  if (memory.device_type() != nb::device::cpu::value) {
    raise_type(fmt::format("an array is on another device (DLPack's {}); wanted one in the memory of the CPU",
                           memory.device_type()));
  }
  const auto dtype = known ? known : from_dlpack(memory.dtype());
  if (!dtype) {
    const auto type = memory.dtype();
    constexpr std::string_view kNames[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    raise_type(
        fmt::format("an array has the dtype {}{}{}; wanted bool, (u)int8 to 64, float16 to 64, bfloat16 or "
                    "complex64",
                    type.code < std::size(kNames) ? kNames[type.code] : "of unknown kind ", type.bits,
                    type.lanes == 1 ? "" : fmt::format("x{}", type.lanes)));
  }
  const Elements e = checked({static_cast<const char*>(memory.data()),
                              {memory.shape_ptr(), memory.shape_ptr() + memory.ndim()},
                              {memory.stride_ptr(), memory.stride_ptr() + memory.ndim()},
                              *dtype});
  if (share == Share::yes && e.dense && e.count > 0 && is_aligned(e) && can_lend()) return {lend(e, memory), true};
  // Long copies need not keep others from running; the handle holds the memory.
  constexpr std::size_t kLong = 1 << 20;
  if (e.count < kLong) return {dense_copy(e), false};
  const WithoutGil released;
  return {dense_copy(e), false};
}

mx::array import_int(nb::handle object) {
  int overflow = 0;
  const long long i = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) {
    if (i == static_cast<std::int32_t>(i)) return mx::array(static_cast<std::int32_t>(i));
    return mx::array(static_cast<std::int64_t>(i), mx::int64);
  }
  std::uint64_t u = 0;
  if (!nb::try_cast(object, u)) {
    raise(make_error(ErrorCode::invalid_argument, "the integer {} does not fit 64 bits", text_of(object)));
  }
  return mx::array(u, mx::uint64);
}

std::optional<mx::array> import_number(nb::handle object) {
  PyObject* p = object.ptr();
  // Exactly Python's own: numpy.float64 is a float too, but has a dtype.
  if (PyBool_Check(p)) return mx::array(p == Py_True, mx::bool_);
  if (PyLong_CheckExact(p)) return import_int(object);
  if (PyFloat_CheckExact(p)) return mx::array(static_cast<float>(PyFloat_AsDouble(p)));
  if (PyComplex_CheckExact(p)) {
    return mx::array(std::complex<float>(static_cast<float>(PyComplex_RealAsDouble(p)),
                                         static_cast<float>(PyComplex_ImagAsDouble(p))));
  }
  return std::nullopt;
}

// What DLPack and buffers cannot say: byte orders, bfloat16, odd strides, lists.
Imported import_by_numpy(nb::handle object, Share share) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const bool is_list = nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
  if (!is_list && !nb::hasattr(object, "__array__") && !nb::hasattr(object, "__array_interface__")) {
    raise_type(
        fmt::format("wanted an array (reprise.Array, NumPy, MLX or anything with DLPack), a number or lists of "
                    "numbers; got {}",
                    type_name_of(object)));
  }
  nb::object array = numpy.attr("asarray")(object);
  const std::string dtype = from_str(array.attr("dtype").attr("name"));
  if (is_list) {
    // As for numbers: a list has no dtype of its own.
    const std::string kind = from_str(array.attr("dtype").attr("kind"));
    const char* narrow = kind == "f" ? "float32" : kind == "c" ? "complex64" : nullptr;
    if (dtype == "int64") {
      const nb::object small = array.attr("astype")("int32");
      if (nb::cast<bool>(numpy.attr("array_equal")(small, array))) array = small;
    }
    if (narrow) array = array.attr("astype")(narrow);
  }
  std::optional<DType> known;
  if (dtype == "bfloat16") {
    known = DType::bfloat16;
    array = array.attr("view")("uint16");
  } else if (!nb::cast<bool>(array.attr("dtype").attr("isnative"))) {
    array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  }
  auto memory = memory_of(array);
  if (!memory) memory = memory_of(array = array.attr("copy")());
  if (!memory) {
    raise_type(
        fmt::format("an array has the dtype {}; wanted bool, (u)int8 to 64, float16 to 64, bfloat16 or complex64",
                    printable(dtype)));
  }
  return import_memory(*memory, known, share);
}

// A view of the array's memory that keeps the array alive.
template <typename Framework>
nb::object view(const mx::array& array, DType shown) {
  const Elements e = elements_of(array);
  auto* owner = new mx::array(array);
  const nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<mx::array*>(p); });
  const std::vector<std::size_t> shape(e.shape.begin(), e.shape.end());
  return nb::cast(nb::ndarray<nb::ro, Framework>(e.data, shape.size(), shape.data(), capsule, e.strides.data(),
                                                 to_dlpack(shown), nb::device::cpu::value, 0));
}

nb::object to_numpy(const Array& self) {
  const mx::array& array = self.get();
  const DType dtype = from_mlx(array.dtype());
  if (dtype != DType::bfloat16) return view<nb::numpy>(array, dtype);
  nb::object bfloat16;
  try {
    bfloat16 = nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ImportError)) throw;
    raise_type(
        "NumPy has no bfloat16 of its own: install ml_dtypes, or let the program end with astype to float32; "
        "tolist(), item() and DLPack work as they are");
  }
  return view<nb::numpy>(array, DType::uint16).attr("view")(bfloat16);
}

// For values, not memory: bfloat16 as float32.
nb::object to_readable_numpy(const Array& self) {
  const mx::array& array = self.get();
  if (from_mlx(array.dtype()) != DType::bfloat16) return to_numpy(self);
  nb::object wide = view<nb::numpy>(array, DType::uint16).attr("astype")("uint32");
  return wide.attr("__lshift__")(16).attr("astype")("uint32").attr("view")("float32");
}

nb::object as_numpy(const Array& self, nb::handle dtype, nb::handle copy) {
  nb::object out = to_numpy(self);
  const bool must_not_copy = copy.ptr() == Py_False;
  if (!dtype.is_none() && !out.attr("dtype").equal(nb::module_::import_("numpy").attr("dtype")(dtype))) {
    if (must_not_copy) throw nb::value_error("another dtype than the array's needs a copy, but copy is False");
    return out.attr("astype")(dtype);
  }
  return copy.ptr() == Py_True ? out.attr("copy")() : out;
}

nb::object dlpack(const Array& self, const nb::kwargs& kwargs) {
  nb::kwargs rest = nb::cast<nb::kwargs>(nb::dict(kwargs));
  mx::array array = self.get();
  if (rest.contains("copy")) {
    if (nb::handle(rest["copy"]).ptr() == Py_True) array = copy_of(array);
    nb::del(rest["copy"]);
  }
  return view<nb::array_api>(array, from_mlx(array.dtype())).attr("__dlpack__")(**rest);
}

Array make_array(nb::handle object, nb::handle dtype) {
  const Imported imported = import_array(object, Share::no);
  const bool is_own = !nb::isinstance<Array>(object);
  if (!dtype.is_none()) {
    const DType wanted = to_dtype(dtype);
    if (wanted != from_mlx(imported.array.dtype())) return {astype(imported.array, wanted)};
  }
  return {is_own ? imported.array : copy_of(imported.array)};
}

std::string describe(const Array& self) {
  if (!self.value) return "reprise.Array(donated)";
  constexpr std::size_t kShown = 64;
  const std::string type = to_string(type_of(*self.value));
  if (self.value->size() > kShown) return fmt::format("reprise.Array({})", type);
  const nb::object list = to_readable_numpy(self).attr("tolist")();
  return fmt::format("reprise.Array({}, {})", from_str(list), type);
}

}  // namespace

nb::str to_str(std::string_view text) {
  PyObject* out = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!out) throw nb::python_error();
  return nb::steal<nb::str>(out);
}

std::string from_str(nb::handle object) {
  const auto bytes = nb::cast<nb::bytes>(nb::str(object).attr("encode")("utf-8", "backslashreplace"));
  return std::string(bytes.c_str(), bytes.size());
}

std::string to_path(nb::handle path) {
  const auto bytes = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(path));
  std::string out(bytes.c_str(), bytes.size());
  if (out.find('\0') != std::string::npos) throw nb::value_error("a path with a null character");
  return out;
}

std::string type_name_of(nb::handle object) { return text_of(object.type().attr("__name__")); }

const mx::array& Array::get() const {
  if (!value) raise(Error(ErrorCode::invalid_argument, "the array was donated to a run: it holds nothing any more"));
  return *value;
}

Imported import_array(nb::handle object, Share share) {
  if (nb::isinstance<Array>(object)) return {nb::cast<const Array&>(object).get(), false};
  if (const auto number = import_number(object)) return {*number, false};
  if (const auto memory = memory_of(object)) return import_memory(*memory, std::nullopt, share);
  return import_by_numpy(object, share);
}

mx::array copy_of(const mx::array& array) { return dense_copy(elements_of(array)); }

mx::array astype(const mx::array& array, DType dtype) {
  const nb::object values = to_readable_numpy(Array{array});
  if (dtype != DType::bfloat16) {
    return import_array(values.attr("astype")(std::string(name(dtype))), Share::no).array;
  }
  // To the nearest, ties to even, as the hardware does it.
  nb::object bits = values.attr("astype")("float32").attr("view")("uint32");
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object odd = numpy.attr("bitwise_and")(numpy.attr("right_shift")(bits, 16), 1);
  const nb::object rounded = numpy.attr("right_shift")(numpy.attr("add")(numpy.attr("add")(bits, 0x7fff), odd), 16);
  const nb::object nan = numpy.attr("isnan")(values);
  const nb::object half = numpy.attr("where")(nan, 0x7fc0, rounded).attr("astype")("uint16");
  return import_memory(*memory_of(half), DType::bfloat16, Share::no).array;
}

DType to_dtype(nb::handle object) {
  std::string text;
  if (nb::isinstance<nb::str>(object)) {
    text = text_of(object);
  } else if (nb::hasattr(object, "name")) {
    text = text_of(object.attr("name"));
  } else if (nb::hasattr(object, "__name__")) {
    text = text_of(object.attr("__name__"));
  } else {
    text = text_of(object);
    text = text.substr(text.rfind('.') + 1);  // mlx.core.float32
  }
  if (text == "bool_") text = "bool";
  auto dtype = dtype_from_name(text);
  if (!dtype) dtype = dtype_from_short_name(text);
  if (!dtype) {
    raise(
        make_error(ErrorCode::invalid_argument, "dtype '{}' is unknown; wanted one such as float32", printable(text)));
  }
  return *dtype;
}

void bind_array(nb::module_& module) {
  nb::class_<Array>(module, "Array",
                    "An array with its values, as a run gives it. It cannot be changed, may be used on any thread, and "
                    "shares its memory with NumPy and whoever knows DLPack.")
      .def_prop_ro(
          "shape", [](const Array& a) { return nb::tuple(nb::cast(type_of(a.get()).shape)); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes.")
      .def_prop_ro(
          "dtype", [](const Array& a) { return std::string(name(type_of(a.get()).dtype)); },
          "Name of the element type, such as 'float32'.")
      .def_prop_ro(
          "ndim", [](const Array& a) { return a.get().ndim(); }, "How many axes it has.")
      .def_prop_ro(
          "size", [](const Array& a) { return a.get().size(); }, "How many elements it has.")
      .def_prop_ro(
          "nbytes", [](const Array& a) { return a.get().nbytes(); }, "Bytes of all elements.")
      .def_prop_ro(
          "donated", [](const Array& a) { return !a.value; },
          "True once a run has taken the array over: it holds nothing any more.")
      .def("numpy", to_numpy, nb::sig("def numpy(self) -> typing.Any"),
           "A read-only NumPy array of the same memory. bfloat16 needs the package ml_dtypes: TypeError without it.")
      .def("__array__", as_numpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> typing.Any"))
      .def("__dlpack__", dlpack, nb::sig("def __dlpack__(self, **kwargs: object) -> object"),
           "A DLPack capsule of the same memory, which must not be written to.")
      .def(
          "__dlpack_device__", [](const Array&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "item",
          [](const Array& a) {
            if (a.get().size() != 1) {
              raise(make_error(ErrorCode::invalid_argument, "item() of {}; wanted an array of one element",
                               to_string(type_of(a.get()))));
            }
            return to_readable_numpy(a).attr("item")();
          },
          nb::sig("def item(self) -> bool | int | float | complex"), "The value of an array of one element.")
      .def(
          "tolist", [](const Array& a) { return to_readable_numpy(a).attr("tolist")(); },
          nb::sig("def tolist(self) -> object"), "The values as nested lists; of a scalar, the value.")
      .def("__len__",
           [](const Array& a) {
             if (a.get().ndim() == 0) throw nb::type_error("len() of a scalar");
             return a.get().shape(0);
           })
      .def("__repr__", describe);

  module.def("array", make_array, nb::arg("values"), nb::arg("dtype") = nb::none(),
             nb::sig("def array(values: object, dtype: object = None) -> Array"),
             "An Array with a copy of the values: of an array, a number or nested lists. Without a dtype, Python's "
             "numbers become bool, int32 (int64 where they need it), float32 or complex64.");
}

}  // namespace reprise::python
