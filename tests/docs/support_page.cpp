#include <fmt/format.h>

#include "docs/pages.hpp"
#include "reprise/dtype.hpp"
#include "reprise/ops.hpp"

namespace reprise::docs {
namespace {

using nlohmann::json;

constexpr const char* kIntroduction = R"(# What works where

The conformance suite tries every op with operands of every dtype, on every backend and device of a machine, and writes
down what happened: `docs/support/DEVICE.json`, which this page is made from. A test compares the CPU's with what the
suite does now.

| Cell | Meaning |
|---|---|
| a number | works; so many [cases](ops/README.md) of that dtype give what they must |
| yes | works: a run gave a result of the right shape and dtype; the cases are of other dtypes |
| – | refused before anything runs, with an error that names the dtype |
| n failed | so many cases fail |

The dtype is that of the main operands, or of the result for ops without operands. `float64` is there on the CPU only.
Linear algebra runs on the CPU whatever the device. A machine with another device adds its part: `./dev docs --device
cuda`.

)";

std::string cell_of(const json& entry) {
  if (const int failed = entry.value("failed", 0); failed > 0) return fmt::format("{} failed", failed);
  if (!entry.value("supported", false)) return "–";
  const int passed = entry.value("passed", 0);
  return passed > 0 ? std::to_string(passed) : "yes";
}

std::string table(const json& ops) {
  std::string out = "| Op |";
  std::string line = "|---|";
  for (int i = 0; i < kDTypeCount; ++i) {
    out += fmt::format(" {} |", short_name(static_cast<DType>(i)));
    line += "---|";
  }
  out += "\n" + line + "\n";
  for (const OpInfo& op : op_table()) {
    out += fmt::format("| [{0}](ops/{1}.md#{0}) |", op.name, op.family);
    const json dtypes = ops.value(std::string(op.name), json::object());
    for (int i = 0; i < kDTypeCount; ++i) {
      out += fmt::format(" {} |", cell_of(dtypes.value(std::string(name(static_cast<DType>(i))), json::object())));
    }
    out += "\n";
  }
  return out;
}

}  // namespace

Pages support_page(const Records& records) {
  std::string page = kNotice + std::string(kIntroduction);
  for (const json& record : records) {
    for (const auto& [backend, ops] : record.at("backends").items()) {
      page +=
          fmt::format("## Backend {}, device {}\n\n{}\n", backend, record.at("device").get<std::string>(), table(ops));
    }
  }
  if (records.size() < 2) page += "No run on a CUDA device is recorded yet.\n";
  while (page.ends_with("\n\n")) page.pop_back();
  return {{"support.md", page}};
}

}  // namespace reprise::docs
