// Reads one metadata value; shared by the reader of files and the getters.
#pragma once

#include <cstddef>

#include "io/gguf/cursor.hpp"
#include "io/gguf/gguf.hpp"

namespace reprise::gguf {

/// Bytes of a scalar; 0 for strings, arrays and numbers that are no type.
std::size_t scalar_size(ValueType type);

/// Arrays may nest `depth` levels. What comes back has been checked to its last byte.
Result<Value> read_value(Cursor& cursor, ValueType type, int depth);

inline constexpr int kDeepestArray = 8;

}  // namespace reprise::gguf
