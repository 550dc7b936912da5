// NumPy's .npy files.
//
//   Result<mlx::core::array> x = read_npy("x.npy");
//   if (!x) return x.error();
//   Status done = write_npy("y.npy", *x);
//
// Reads versions 1.0 to 3.0, both byte orders and both orders of axes, and gives row-major arrays in memory, evaluated:
// any thread can use them. The header is held against the file's size before memory is asked for.
// NumPy has no bfloat16: such an array is written as float32, which holds every bfloat16 value.
#pragma once

#include <mlx/array.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/npy/header.hpp"
#include "reprise/status.hpp"

namespace reprise {

Result<mlx::core::array> read_npy(const std::string& path);

/// The file is complete or what it was before. An array that is not evaluated yet is evaluated here, which MLX allows
/// only on the thread that built it.
Status write_npy(const std::string& path, const mlx::core::array& array);

/// From memory.
Result<mlx::core::array> decode_npy(std::span<const std::byte> file);

/// From a source of `file_size` bytes, which must all be the file.
Result<mlx::core::array> decode_npy(std::uint64_t file_size, const ReadBytes& read);

/// A file in two pieces, so that a row-major array is not copied.
struct EncodedNpy {
  std::string header;
  std::span<const std::byte> data;         ///< of `array` or of `converted`
  mlx::core::array array;                  ///< keeps the elements alive
  std::unique_ptr<std::byte[]> converted;  ///< elements that had to be put in order or widened
};
Result<EncodedNpy> encode_npy(const mlx::core::array& array);

}  // namespace reprise
