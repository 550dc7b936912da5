#pragma once

#include <string_view>

namespace reprise {

/// "0.1.0"
std::string_view version();

}  // namespace reprise
