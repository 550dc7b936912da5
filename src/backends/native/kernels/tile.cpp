#include "backends/native/kernels/tile.hpp"

namespace reprise::native {

TileFn tile_kernel(std::string_view op, DType dtype) {
  for (const auto find : {integer_tile, float_tile, math_tile, trig_tile, library_tile, complex_tile}) {
    if (const TileFn found = find(op, dtype)) return found;
  }
  return nullptr;
}

}  // namespace reprise::native
