#include "reprise/ops.hpp"

#include "bindings.hpp"

namespace reprise::python {

void bind_ops(nb::module_& module) {
  module.def(
      "ops", [] { return nb::module_::import_("json").attr("loads")(op_table_json()); },
      nb::sig("def ops() -> list[dict[str, typing.Any]]"),
      "The op table: one dict for each op, with what `reprise ops --json` prints.");
}

}  // namespace reprise::python
