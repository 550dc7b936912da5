// The header of a safetensors file: what is where, checked against the size of the data.
//
//   Result<Header> header = parse_header(json, data_bytes);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::safetensors {

/// A header larger than this is taken for damage; the reference reader's limit.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

struct Entry {
  std::string name;
  TensorType type;
  std::uint64_t begin = 0;  ///< bytes from the start of the data
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Entry> entries;  ///< in file order
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// "F32"; "BOOL".
std::string_view file_name(DType dtype);

/// Every entry is within the data and as long as its type says, and together they cover it exactly.
Result<Header> parse_header(std::string_view json, std::uint64_t data_bytes);

}  // namespace reprise::safetensors
