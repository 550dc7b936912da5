#include "conformance/case_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace reprise::conformance {

std::vector<CaseFile> case_files() {
  std::vector<CaseFile> out;
  for (const auto& folder : std::filesystem::directory_iterator(REPRISE_OPS_FOLDER)) {
    const std::string family = folder.path().filename().string();
    const auto path = folder.path() / (family + ".cases");
    if (std::filesystem::exists(path)) out.push_back({family, path.string()});
  }
  std::sort(out.begin(), out.end(), [](const CaseFile& a, const CaseFile& b) { return a.family < b.family; });
  return out;
}

Result<std::vector<Case>> read_cases(const CaseFile& file) {
  std::ifstream in(file.path);
  std::ostringstream text;
  text << in.rdbuf();
  auto cases = parse_cases(text.str());
  if (!cases) return cases.error().with_context(file.path);
  return cases;
}

Result<std::vector<Case>> all_cases() {
  std::vector<Case> out;
  for (const CaseFile& file : case_files()) {
    REPRISE_ASSIGN(std::vector<Case> cases, read_cases(file));
    out.insert(out.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
  }
  return out;
}

}  // namespace reprise::conformance
