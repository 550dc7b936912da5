// The .cases files beside the rows.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_file.hpp"

namespace reprise::conformance {

struct CaseFile {
  std::string family;  ///< the folder's name
  std::string path;
};

/// By family.
std::vector<CaseFile> case_files();
Result<std::vector<Case>> read_cases(const CaseFile& file);
Result<std::vector<Case>> all_cases();

}  // namespace reprise::conformance
