// The pages that are made from the op table, the .cases files and the recorded support.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/case_file.hpp"

namespace reprise::docs {

/// Path below docs, to text.
using Pages = std::map<std::string, std::string>;

/// docs/support/DEVICE.json, by device; the CPU's comes first.
using Records = std::vector<nlohmann::json>;

inline constexpr const char* kNotice = "<!-- Made by ./dev docs. Changes belong into src/ops and tests/docs. -->\n\n";

/// ops/README.md and one page for each family. What the ops of the CPU's record give by dtype is taken from it.
Pages manual(const std::vector<conformance::Case>& cases, const Records& records);

/// support.md
Pages support_page(const Records& records);

/// Breaks at spaces so that lines have at most 120 columns; later lines start with `indent`.
std::string wrapped(const std::string& text, const std::string& indent = "");

}  // namespace reprise::docs
