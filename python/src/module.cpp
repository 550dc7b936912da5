// The Python package `reprise`: a thin layer over the C++ API. The GIL is released while anything is compiled or run.
#include "bindings.hpp"
#include "reprise/executable.hpp"
#include "reprise/version.hpp"

namespace reprise::python {
namespace {

nb::handle error_type;  // lives as long as the process

}  // namespace

void raise(const Error& error, nb::handle cause) {
  const std::string_view code = to_string(error.code());
  nb::object exception = error_type(to_str(error.message()), to_str(code));
  if (cause.is_valid()) exception.attr("__cause__") = cause;
  PyErr_SetObject(error_type.ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace reprise::python

NB_MODULE(_reprise, module) {
  using namespace reprise::python;
  module.doc() = "Compiles a tensor program once and replays it fast.";
  module.attr("__version__") = std::string(reprise::version());
  error_type = nb::object(nb::module_::import_("reprise._error").attr("Error")).release();
  watch_interpreter(module);
  bind_array(module);
  bind_program(module);
  bind_builder(module);
  bind_executable(module);
  bind_ops(module);
  bind_text_model(module);
  module.def(
      "set_threads", [](int n) { unwrap(reprise::set_threads(n)); }, nb::arg("threads"),
      "How many threads work at once at most, in the whole process. Before the first run.");
  module.def("threads", reprise::threads, "How many threads work at once at most.");
}
