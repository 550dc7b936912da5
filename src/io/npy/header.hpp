// The header of a .npy file: what comes before the elements.
//
//   NpyHeader header{DType::float32, false, false, {2, 3}};
//   encode_npy_header(header);  // the same 128 bytes that NumPy writes
//
// The format is described in numpy/lib/format.py. Its text is a Python dictionary; only what writers of such files put
// there is understood, never Python at large, and whatever is accepted here NumPy accepts with the same meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise {

struct NpyHeader {
  DType dtype = DType::float32;
  bool big_endian = false;
  bool fortran_order = false;  ///< the first axis varies fastest
  Shape shape;
};

/// Fills the whole span with the next bytes of a file, or says why it cannot.
using ReadBytes = std::function<Status(std::span<std::byte>)>;

/// Reads magic, version and header of a file of `file_size` bytes, and checks that exactly the elements follow: after
/// this, allocating what the header asks for costs no more memory than the file has bytes.
Result<NpyHeader> read_npy_header(std::uint64_t file_size, const ReadBytes& read);

/// The bytes before the elements; version 1.0, or 2.0 where the shape is too long for it.
std::string encode_npy_header(const NpyHeader& header);

/// Bytes that the elements take; the shape's product is known to fit.
std::size_t npy_data_size(const NpyHeader& header);

}  // namespace reprise
