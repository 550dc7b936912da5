// Arrays between Python and MLX, without copies where the memory allows it.
#pragma once

#include <mlx/array.h>

#include <optional>
#include <string>
#include <string_view>

#include "interpreter.hpp"
#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::python {

/// What Python sees as reprise.Array: an evaluated array. A donated one is empty from then on.
struct Array {
  std::optional<mlx::core::array> value;

  const mlx::core::array& get() const;
};

/// What an array from Python became.
struct Imported {
  mlx::core::array array;
  bool is_lent = false;  ///< shows memory that others may write to
};

/// Whether memory of Python's objects may be shown to MLX, or is copied.
enum class Share : bool { no, yes };

/// From a reprise.Array, anything with DLPack or the buffer protocol (NumPy, mlx.core.array, torch), a number, or
/// nested lists of numbers. With Share::yes, dense and aligned memory on the CPU is lent: its owner lives until MLX
/// lets go of it. Raises TypeError for what is no array of a known dtype, reprise.Error for what is too large.
Imported import_array(nb::handle object, Share share);

/// An own dense copy.
mlx::core::array copy_of(const mlx::core::array& array);
/// An own dense copy of another dtype, converted as NumPy does it.
mlx::core::array astype(const mlx::core::array& array, DType dtype);

/// From "float32", "f32", a NumPy or MLX dtype, or a type such as numpy.float32.
DType to_dtype(nb::handle object);

/// Text for Python; bytes that are no UTF-8, from a file say, become escapes.
nb::str to_str(std::string_view text);
/// str() of an object; what UTF-8 cannot have becomes escapes.
std::string from_str(nb::handle object);
/// From str, bytes or os.PathLike, as the file system has it.
std::string to_path(nb::handle path);
/// Name of an object's type, for messages.
std::string type_name_of(nb::handle object);

/// Raises reprise.Error.
[[noreturn]] void raise(const Error& error, nb::handle cause = {});

template <typename T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}
inline void unwrap(const Status& status) {
  if (!status.ok()) raise(status.error());
}

void bind_array(nb::module_& module);

}  // namespace reprise::python
