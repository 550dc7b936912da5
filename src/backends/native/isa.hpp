// Which instruction sets the kernels may use.
#pragma once

#include "reprise/status.hpp"

namespace reprise::native {

/// Holds kernels, ours and oneDNN's, to what the environment variable REPRISE_ISA names: sse2, avx2 or avx512. Done
/// once for the process, before the first kernel runs. Errors: another name.
Status apply_isa_limit();

}  // namespace reprise::native
