// NumPy's .npz files: a zip archive with a .npy file for each array.
//
//   auto arrays = read_npz("x.npz");
//   if (!arrays) return arrays.error();
//   for (auto& [name, array] : *arrays) ...
//
// Members may be stored or deflated. What a member claims to hold is held against what its packed bytes can hold before
// memory is asked for, so that memory stays within 1032 times the file's size (the most that deflate packs).
#pragma once

#include <mlx/array.h>

#include <string>
#include <utility>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

using NamedArrays = std::vector<std::pair<std::string, mlx::core::array>>;

/// In the file's order, names without ".npy"; evaluated and row-major as from read_npy. Any other member is an error.
Result<NamedArrays> read_npz(const std::string& path);

enum class NpzPacking { stored, deflated };

/// The file is complete or what it was before, and the same arrays give the same bytes. The archive is put together in
/// memory.
Status write_npz(const std::string& path, const NamedArrays& arrays, NpzPacking packing = NpzPacking::stored);

}  // namespace reprise
