#include "reprise/executable.hpp"

#include "base/format.hpp"
#include "bindings.hpp"
#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::python {
namespace {

namespace mx = mlx::core;

/// Inputs of one run, and what has to be known of them afterwards.
struct Inputs {
  std::vector<mx::array> arrays;
  std::vector<std::shared_ptr<mx::array::Data>> lent;
};

// Which inputs a run may take over: all that are reprise.Array, or those that are named.
std::vector<std::size_t> donations(const std::vector<nb::object>& inputs, nb::handle donate) {
  std::vector<std::size_t> out;
  if (PyBool_Check(donate.ptr())) {
    for (std::size_t i = 0; donate.ptr() == Py_True && i < inputs.size(); ++i) {
      if (nb::isinstance<Array>(inputs[i])) out.push_back(i);
    }
    return out;
  }
  for (const std::int64_t index : to_integers(donate)) {
    const auto size = static_cast<std::int64_t>(inputs.size());
    if (index < -size || index >= size) {
      raise(make_error(ErrorCode::invalid_argument, "run: donate names input {}; there are {}", index, size));
    }
    const auto i = static_cast<std::size_t>(index < 0 ? index + size : index);
    if (!nb::isinstance<Array>(inputs[i])) {
      raise(make_error(ErrorCode::invalid_argument,
                       "run: donate names input {}, which is of the type {}; only a reprise.Array can be donated", i,
                       type_name_of(inputs[i])));
    }
    out.push_back(i);
  }
  return out;
}

Inputs import_inputs(const std::vector<nb::object>& objects, nb::handle donate) {
  Inputs out;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (nb::isinstance<Array>(objects[i]) && !nb::cast<const Array&>(objects[i]).value) {
      raise(
          make_error(ErrorCode::invalid_argument, "run: input {} was donated to an earlier run: it holds nothing", i));
    }
    try {
      const Imported imported = import_array(objects[i], Share::yes);
      if (imported.is_lent) out.lent.push_back(imported.array.data_shared_ptr());
      out.arrays.push_back(imported.array);
    } catch (const nb::builtin_exception& e) {
      throw nb::type_error(fmt::format("run: input {}: {}", i, e.what()).c_str());
    }
  }
  for (const std::size_t i : donations(objects, donate)) nb::cast<Array&>(objects[i]).value.reset();
  return out;
}

/// What Python raised while a run went on.
struct Raised {
  std::optional<nb::python_error> in_callback;  // becomes the cause of the run's error
  std::optional<nb::python_error> by_signal;    // KeyboardInterrupt, mostly: raised as it is
};

// A number or a list has no dtype of its own: the declared one is meant.
mx::array to_reply(nb::handle object, std::optional<DType> declared) {
  if (nb::isinstance<Array>(object)) return nb::cast<const Array&>(object).get();
  const mx::array reply = import_array(object, Share::no).array;
  if (!declared || nb::hasattr(object, "dtype") || from_mlx(reply.dtype()) == *declared) return reply;
  return astype(reply, *declared);
}

// What a callback's exception says; its __str__ may raise too.
std::string shown(nb::handle exception) {
  try {
    return from_str(exception);
  } catch (const nb::python_error&) {
    return "";
  }
}

HostCallback host_callback(nb::handle function, Raised& raised) {
  if (function.is_none()) return {};
  return [function, &raised](const HostCall& call) -> Result<std::vector<mx::array>> {
    const InCallback in_callback;
    const nb::gil_scoped_acquire gil;
    try {
      nb::list operands;
      for (const mx::array& x : call.operands) operands.append(nb::cast(Array{x}));
      const nb::object reply = function(call.callback, operands);
      if (reply.is_none()) return std::vector<mx::array>{};
      std::vector<mx::array> out;
      for (const nb::handle item : reply) {
        const bool is_declared = out.size() < call.results.size();
        out.push_back(to_reply(item, is_declared ? std::optional(call.results[out.size()].dtype) : std::nullopt));
      }
      return out;
    } catch (nb::python_error& e) {
      const std::string type = type_name_of(e.value());
      const std::string text = shown(e.value());
      const bool is_exception = e.matches(PyExc_Exception);
      (is_exception ? raised.in_callback : raised.by_signal).emplace(std::move(e));
      return make_error(ErrorCode::runtime, "{}{}{}", type, text.empty() ? "" : ": ", text);
    } catch (const std::exception& e) {
      return Error(ErrorCode::runtime, e.what());
    }
  };
}

[[noreturn]] void raise_as_it_is(nb::python_error& e) {
  e.restore();
  throw nb::python_error();
}

nb::list run(const Executable& executable, const std::vector<nb::object>& objects, nb::handle callback,
             nb::handle donate, const std::shared_ptr<CancelToken>& given, std::int64_t max_loop_turns) {
  Inputs inputs = import_inputs(objects, donate);
  const std::shared_ptr<CancelToken> cancel = given ? given : std::make_shared<CancelToken>();
  Raised raised;
  RunOptions options;
  options.cancel = cancel.get();
  options.host = host_callback(callback, raised);
  options.max_loop_turns = max_loop_turns;
  options.while_waiting = [&] {
    const nb::gil_scoped_acquire gil;  // to be had: the interpreter's end waits for this run
    if (raised.by_signal || PyErr_CheckSignals() == 0) return;
    raised.by_signal.emplace();
    cancel->cancel();
  };
  std::optional<Result<std::vector<mx::array>>> outputs;
  {
    const WithoutGil released;
    const ActiveRun active(*cancel);
    outputs = executable.run(std::move(inputs.arrays), options);
  }
  if (raised.by_signal) raise_as_it_is(*raised.by_signal);
  if (!outputs->ok()) {
    raise(outputs->error(), raised.in_callback ? raised.in_callback->value() : nb::handle());
  }
  nb::list out;
  for (mx::array& value : **outputs) {
    // An output that is an input would change when the input's owner writes to it.
    const bool is_lent =
        std::find(inputs.lent.begin(), inputs.lent.end(), value.data_shared_ptr()) != inputs.lent.end();
    out.append(nb::cast(Array{is_lent ? copy_of(value) : std::move(value)}));
  }
  outputs.reset();
  inputs.lent.clear();
  release_loans();
  return out;
}

std::vector<nb::object> to_objects(nb::handle iterable) {
  std::vector<nb::object> out;
  for (const nb::handle item : iterable) out.push_back(nb::borrow(item));
  return out;
}

nb::list run_list(const Executable& self, nb::handle inputs, nb::handle callback, nb::handle donate,
                  const std::shared_ptr<CancelToken>& cancel, std::int64_t max_loop_turns) {
  return run(self, to_objects(inputs), callback, donate, cancel, max_loop_turns);
}

nb::list call(const Executable& self, const nb::args& inputs, nb::handle callback, nb::handle donate,
              const std::shared_ptr<CancelToken>& cancel, std::int64_t max_loop_turns) {
  return run(self, to_objects(inputs), callback, donate, cancel, max_loop_turns);
}

Executable compile_program(const Program& program, const std::string& device, const std::string& backend,
                           std::int64_t max_specialisations, std::int64_t max_value_bytes,
                           std::vector<std::string> disabled_passes) {
  CompileOptions options;
  options.backend = unwrap(parse_backend(backend));
  options.device = unwrap(parse_device(device));
  if (max_specialisations < 1) {
    raise(make_error(ErrorCode::invalid_argument, "max_specialisations is {}; wanted at least 1", max_specialisations));
  }
  if (max_value_bytes < 0) {
    raise(make_error(ErrorCode::invalid_argument, "max_value_bytes is {}; wanted at least 0", max_value_bytes));
  }
  options.max_specialisations = static_cast<std::size_t>(max_specialisations);
  options.max_value_bytes = max_value_bytes;
  options.disabled_passes = std::move(disabled_passes);
  std::optional<Result<Executable>> made;
  {
    const WithoutGil released;
    made = compile(program, options);
  }
  return unwrap(*std::move(made));
}

void specialise(const Executable& executable, nb::handle inputs) {
  const std::vector<TensorType> types = to_tensor_types(inputs);
  CancelToken token;
  std::optional<Status> status;
  {
    const WithoutGil released;
    const ActiveRun active(token);
    status = executable.specialise(types);
  }
  unwrap(*status);
}

PlanInfo plan(const Executable& executable, nb::handle inputs) {
  const std::vector<TensorType> types = to_tensor_types(inputs);
  CancelToken token;
  std::optional<Result<PlanInfo>> made;
  {
    const WithoutGil released;
    const ActiveRun active(token);
    made = executable.plan(types);
  }
  return unwrap(*std::move(made));
}

nb::object maybe(const BufferInfo& b, std::size_t value, bool known) {
  return b.used && known ? nb::object(nb::int_(value)) : nb::none();
}

void bind_plan(nb::module_& module) {
  nb::class_<StepInfo>(module, "PlanStep", "One step of a plan.")
      .def_ro("text", &StepInfo::text, "The kernel and its sizes.")
      .def_ro("why", &StepInfo::why, "Why no better kernel does it; empty when there is none.")
      .def_ro("on_mlx", &StepInfo::on_mlx, "Whether MLX does it.")
      .def_ro("instructions", &StepInfo::instructions, "Numbers of the program's instructions that it computes.")
      .def_ro("reads", &StepInfo::reads, "Indices of buffers.")
      .def_ro("writes", &StepInfo::writes, "Indices of buffers.")
      .def("__repr__", [](const StepInfo& s) { return fmt::format("<reprise.PlanStep: {}>", s.text); });
  nb::class_<BufferInfo>(module, "PlanBuffer", "Memory that steps of a plan use.")
      .def_prop_ro(
          "kind", [](const BufferInfo& b) { return std::string(name(b.kind)); },
          "'input', 'constant', 'arena' or 'array', which is one of its own.")
      .def_ro("type", &BufferInfo::type, "Element type and shape.")
      .def_ro("bytes", &BufferInfo::bytes, "Its size.")
      .def_prop_ro(
          "offset", [](const BufferInfo& b) { return maybe(b, b.offset, b.kind == BufferKind::arena); },
          nb::sig("def offset(self) -> int | None"), "Its place in the arena.")
      .def_prop_ro(
          "first_step", [](const BufferInfo& b) { return maybe(b, b.first_step, true); },
          nb::sig("def first_step(self) -> int | None"), "The step that uses it first.")
      .def_prop_ro(
          "last_step", [](const BufferInfo& b) { return maybe(b, b.last_step, true); },
          nb::sig("def last_step(self) -> int | None"), "The step that uses it last.")
      .def_ro("is_output", &BufferInfo::is_output, "Whether it is given back.")
      .def("__repr__", [](const BufferInfo& b) {
        return fmt::format("<reprise.PlanBuffer: {}, {} bytes, {}>", to_string(b.type), b.bytes, name(b.kind));
      });
  nb::class_<PlanInfo>(module, "Plan", "What a run does, step by step, and the memory it needs. str() lists the steps.")
      .def_ro("steps", &PlanInfo::steps, "In the order in which they run.")
      .def_ro("buffers", &PlanInfo::buffers, "All memory that the steps use.")
      .def_ro("outputs", &PlanInfo::outputs, "The index of each output's buffer.")
      .def_ro("input_bytes", &PlanInfo::input_bytes, "The caller's arrays.")
      .def_ro("output_bytes", &PlanInfo::output_bytes, "Arrays that are given back.")
      .def_ro("constant_bytes", &PlanInfo::constant_bytes, "Captures, packed weights, tables: once for all runs.")
      .def_ro("arena_bytes", &PlanInfo::arena_bytes, "Working memory of a run.")
      .def_ro("live_bytes", &PlanInfo::live_bytes, "Most of the arena that is in use at once.")
      .def_ro("peak_bytes", &PlanInfo::peak_bytes, "All of it, but for what MLX needs within its steps.")
      .def(
          "explain", [](const PlanInfo& p) { return to_string(p, true); },
          "The list of steps, each with the reasons why no better kernel does it.")
      .def(
          "to_json", [](const PlanInfo& p) { return to_json(p); }, "As JSON, for tools.")
      .def(
          "to_svg", [](const PlanInfo& p) { return to_svg(p); },
          "As a picture: the steps, and each buffer's place in the arena and its life.")
      .def("_repr_svg_", [](const PlanInfo& p) { return to_svg(p); })
      .def("__str__", [](const PlanInfo& p) { return to_string(p); })
      .def("__repr__", [](const PlanInfo& p) {
        return fmt::format("<reprise.Plan: {} steps, peak {} bytes>", p.steps.size(), p.peak_bytes);
      });
}

nb::dict stats(const Executable& executable) {
  const ExecutableStats s = executable.stats();
  nb::dict out;
  out["runs"] = s.runs;
  out["specialisations"] = s.specialisations;
  out["hits"] = s.hits;
  out["misses"] = s.misses;
  out["evictions"] = s.evictions;
  return out;
}

constexpr const char* kRunOptions =
    "\n\nInputs: reprise.Array; NumPy, MLX and whatever knows DLPack, on the CPU; numbers and nested lists of them. "
    "Dense and aligned memory is used where it is, without a copy: nobody may write to it until the run is over. The "
    "outputs never share memory with such inputs.\n\n"
    "callback(number, operands) answers `runtime_call` with a list of arrays, on the thread that runs. What it raises "
    "becomes the cause of the run's reprise.Error. The operands may show an input's memory: copy what is to be kept.\n"
    "donate: indices of the inputs, each a reprise.Array, whose memory the run may reuse for outputs; True for all. "
    "They are empty afterwards, even if the run fails.\n"
    "cancel: ends the run at its next step or turn of a loop. So does Ctrl-C, by the same token.\n"
    "max_loop_turns: a loop that turns more often ends the run with the code 'limit'; 0 for no limit.";

}  // namespace

void bind_executable(nb::module_& module) {
  nb::class_<CancelToken>(module, "CancelToken",
                          "Asks runs to stop, from any thread: at the next step of the program or turn of a loop they "
                          "end with the code 'cancelled'. For good: a token that was used stays cancelled.")
      .def(nb::init<>())
      .def("cancel", &CancelToken::cancel, "Stops the runs that have this token.")
      .def_prop_ro("cancelled", &CancelToken::cancelled, "Whether cancel() was called.");

  bind_plan(module);

  const std::string documentation = std::string("Runs the program on an iterable of inputs.") + kRunOptions;
  const std::string call_documentation =
      std::string("Runs the program: run() with the inputs one by one.") + kRunOptions;
  nb::class_<Executable>(module, "Executable",
                         "A compiled program. Many threads may run it at once. It keeps one specialisation for each "
                         "combination of input types, the least recently used going first.")
      .def("run", run_list, nb::arg("inputs"), nb::arg("callback") = nb::none(), nb::arg("donate") = false,
           nb::arg("cancel") = nb::none(), nb::arg("max_loop_turns") = 0,
           nb::sig("def run(self, inputs: collections.abc.Iterable[object], "
                   "callback: collections.abc.Callable[[int, list[Array]], collections.abc.Iterable[object] | None] | "
                   "None = None, donate: bool | collections.abc.Iterable[int] = False, "
                   "cancel: CancelToken | None = None, max_loop_turns: int = 0) -> list[Array]"),
           documentation.c_str())
      .def("__call__", call, nb::arg("inputs"), nb::kw_only(), nb::arg("callback") = nb::none(),
           nb::arg("donate") = false, nb::arg("cancel") = nb::none(), nb::arg("max_loop_turns") = 0,
           nb::sig("def __call__(self, *inputs: object, "
                   "callback: collections.abc.Callable[[int, list[Array]], collections.abc.Iterable[object] | None] | "
                   "None = None, donate: bool | collections.abc.Iterable[int] = False, "
                   "cancel: CancelToken | None = None, max_loop_turns: int = 0) -> list[Array]"),
           call_documentation.c_str())
      .def("specialise", specialise, nb::arg("inputs"),
           nb::sig("def specialise(self, inputs: collections.abc.Iterable[object]) -> None"),
           "Prepares for inputs of these types (TensorType, pairs (dtype, shape) or arrays) now, so that the first run "
           "is fast and shapes that do not fit show before there is data.")
      .def("plan", plan, nb::arg("inputs"), nb::sig("def plan(self, inputs: collections.abc.Iterable[object]) -> Plan"),
           "What a run with inputs of these types does, step by step. Only backend 'native' plans ahead; others: the "
           "code 'unsupported'.")
      .def_prop_ro("program", &Executable::program, nb::rv_policy::copy, "The program that was compiled.")
      .def_prop_ro(
          "device", [](const Executable& e) { return to_string(e.options().device); }, "Such as 'cpu'.")
      .def_prop_ro("stats", stats, nb::sig("def stats(self) -> dict[str, int]"),
                   "Counters: runs, specialisations (held now), hits, misses, evictions.")
      .def("__repr__", [](const Executable& e) {
        return fmt::format("<reprise.Executable on {}: {} inputs, {} outputs>", to_string(e.options().device),
                           e.program()->num_inputs, e.program()->num_real_outputs);
      });

  module.def("compile", compile_program, nb::arg("program"), nb::arg("device") = "cpu", nb::arg("backend") = "auto",
             nb::kw_only(), nb::arg("max_specialisations") = 16, nb::arg("max_value_bytes") = 0,
             nb::arg("disabled_passes") = std::vector<std::string>(),
             "Verifies the program and prepares it for a device: 'cpu', 'cuda' or 'cuda:N'. At most "
             "`max_specialisations` combinations of input types are kept ready. A program with a value larger than "
             "`max_value_bytes` is refused; 0 stands for the machine's memory. `disabled_passes` names "
             "passes that backend 'native' leaves out, or 'all'. Errors: 'verify' with all faults, "
             "'unsupported' for a device that is not there.");
}

}  // namespace reprise::python
