#include "reprise/text_model.hpp"

#include "bindings.hpp"

namespace reprise::python {
namespace {

struct Generation {
  std::string text;
  GenerateReport report;
};

TextModel load(nb::handle path, const std::string& device, const std::string& backend) {
  const std::string name = to_path(path);
  LoadOptions options;
  options.device = unwrap(parse_device(device));
  options.backend = unwrap(parse_backend(backend));
  std::optional<Result<TextModel>> model;
  {
    const WithoutGil released;
    model = TextModel::load(name, options);
  }
  return unwrap(*std::move(model));
}

Generation generate(const TextModel& model, const std::string& prompt, std::int64_t max_tokens, double temperature,
                    std::int32_t top_k, double top_p, std::uint64_t seed, bool chat, const std::string& system,
                    const std::vector<std::string>& stop, bool ignore_end, std::int64_t context, nb::handle on_text,
                    const std::shared_ptr<CancelToken>& given) {
  const std::shared_ptr<CancelToken> cancel = given ? given : std::make_shared<CancelToken>();
  GenerateOptions options{.max_tokens = max_tokens,
                          .temperature = static_cast<float>(temperature),
                          .top_k = top_k,
                          .top_p = static_cast<float>(top_p),
                          .seed = seed,
                          .chat = chat,
                          .system = system,
                          .stop = stop,
                          .ignore_end = ignore_end,
                          .context = context,
                          .cancel = cancel.get()};
  Generation out;
  std::optional<nb::python_error> raised;
  std::optional<Result<GenerateReport>> report;
  {
    const WithoutGil released;
    const ActiveRun active(*cancel);
    report = model.generate(prompt, options, [&](std::string_view text) {
      out.text += text;
      const InCallback in_callback;
      const nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) {
        raised.emplace();
        return false;
      }
      if (on_text.is_none()) return true;
      try {
        const nb::object go_on = on_text(to_str(text));
        return go_on.ptr() != Py_False;
      } catch (nb::python_error& e) {
        raised.emplace(std::move(e));
        return false;
      }
    });
  }
  if (raised) {
    raised->restore();
    throw nb::python_error();
  }
  out.report = unwrap(*std::move(report));
  return out;
}

}  // namespace

void bind_text_model(nb::module_& module) {
  nb::class_<Generation>(module, "Generation", "What TextModel.generate wrote, and how. str() gives the text.")
      .def_prop_ro(
          "text", [](const Generation& g) { return to_str(g.text); }, "The text, without the prompt.")
      .def_prop_ro(
          "finish", [](const Generation& g) { return std::string(to_string(g.report.finish)); },
          "Why it ended: the end token, a stop text, the length, the context or the caller.")
      .def_prop_ro(
          "prompt_tokens", [](const Generation& g) { return g.report.prompt_tokens; }, "Tokens of the prompt.")
      .def_prop_ro(
          "generated_tokens", [](const Generation& g) { return g.report.generated_tokens; }, "Tokens written.")
      .def_prop_ro(
          "prefill_seconds", [](const Generation& g) { return g.report.prefill_seconds; },
          "From the prompt's tokens to the first logits.")
      .def_prop_ro(
          "decode_seconds", [](const Generation& g) { return g.report.decode_seconds; },
          "Of the tokens after the first.")
      .def_prop_ro(
          "warnings", [](const Generation& g) { return g.report.warnings; }, "What the caller should know.")
      .def("__str__", [](const Generation& g) { return to_str(g.text); })
      .def("__repr__", [](const Generation& g) { return nb::repr(to_str(g.text)); });

  nb::class_<TextModel>(module, "TextModel",
                        "A language model from a GGUF file. Many threads may use it at once; each generation has its "
                        "own cache.")
      .def(
          "generate", generate, nb::arg("prompt"), nb::arg("max_tokens") = 128, nb::arg("temperature") = 0.0,
          nb::arg("top_k") = 0, nb::arg("top_p") = 1.0, nb::arg("seed") = 0, nb::arg("chat") = false,
          nb::arg("system") = "", nb::arg("stop") = std::vector<std::string>{}, nb::arg("ignore_end") = false,
          nb::arg("context") = 0, nb::arg("on_text") = nb::none(), nb::arg("cancel") = nb::none(),
          nb::sig("def generate(self, prompt: str, max_tokens: int = 128, temperature: float = 0.0, top_k: int = 0, "
                  "top_p: float = 1.0, seed: int = 0, chat: bool = False, system: str = '', "
                  "stop: collections.abc.Sequence[str] = (), ignore_end: bool = False, context: int = 0, "
                  "on_text: collections.abc.Callable[[str], object] | None = None, "
                  "cancel: CancelToken | None = None) -> Generation"),
          "Continues the prompt. temperature 0 takes the most likely token; top_k 0 and top_p 1 are off. chat puts the "
          "prompt into the model's chat template. on_text gets the text as it comes, and ends the generation by "
          "returning False; what it raises ends it too.")
      .def(
          "encode", [](const TextModel& m, const std::string& text) { return unwrap(m.encode(text)); }, nb::arg("text"),
          "Token ids of a text, with what the vocabulary adds in front.")
      .def_prop_ro("context", &TextModel::context, "Most tokens that the model can hold.")
      .def_prop_ro("vocabulary", &TextModel::vocabulary, "How many tokens it knows.")
      .def(
          "decode_program", [](const TextModel& m, std::int64_t n) { return unwrap(m.decode_program(n)); },
          nb::arg("capacity"), "The program that decodes one token, with caches of `capacity` rows.");

  module.def("load_model", load, nb::arg("path"), nb::arg("device") = "cpu", nb::arg("backend") = "auto",
             nb::sig("def load_model(path: str | os.PathLike[str], device: str = 'cpu', backend: str = 'mlx') -> "
                     "TextModel"),
             "Reads a GGUF file of the Llama family: F32, F16, BF16, Q4_0, Q4_1 or Q8_0 weights.");
}

}  // namespace reprise::python
