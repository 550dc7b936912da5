#include "reprise/version.hpp"

namespace reprise {

std::string_view version() { return REPRISE_VERSION; }

}  // namespace reprise
