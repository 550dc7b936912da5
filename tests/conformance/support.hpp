// What a backend on a device does with each op in each dtype: the data of docs/support.md.
//
//   const Support seen = survey({.device = Device::cpu()});
//   seen.at("dot").at(DType::int32).supported;  // false: refused with an error that names the dtype
#pragma once

#include <map>
#include <string>

#include "conformance/case_file.hpp"
#include "reprise/executable.hpp"

namespace reprise::conformance {

struct Entry {
  bool supported = false;
  std::string result;   ///< the dtype of the first result
  std::string refusal;  ///< the error, if not supported
  bool broken = false;  ///< neither a result nor a refusal before anything ran
  int passed = 0;       ///< cases of .cases files with results
  int refused = 0;      ///< cases of .cases files whose error came as wanted
  int failed = 0;
};

/// By op and dtype.
using Support = std::map<std::string, std::map<DType, Entry>, std::less<>>;

/// Tries every op with valid operands of every dtype.
Support survey(const CompileOptions& target, const std::vector<Case>& cases);

/// Runs the cases of ops and counts them under the dtype of their main operands.
void count_cases(const std::vector<Case>& cases, const CompileOptions& target, Support& support);

/// As kept in docs/support/DEVICE.json, one op a line.
std::string to_json(const std::string& device, const std::map<std::string, Support>& by_backend);

}  // namespace reprise::conformance
