// The passes that a program goes through on its way to the native backend, in order.
//
//   for (const PassInfo& pass : passes()) std::cout << pass.name << "\n";
//   compile(program, {.backend = Backend::native, .disabled_passes = {"constant_folding"}});
#pragma once

#include <span>
#include <string_view>

namespace reprise {

struct PassInfo {
  std::string_view name;
  std::string_view summary;
};

std::span<const PassInfo> passes();

}  // namespace reprise
