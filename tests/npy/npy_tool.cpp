// npy_tool check FILE...      prints for each file "ok TYPE ..." or "error: TEXT", one line a file
// npy_tool copy [FROM TO]...  reads a file and writes it, for each pair; .npy or .npz by name
// npy_tool deflate [FROM TO]...  as copy, for .npz, packed
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "io/npy/npy.hpp"
#include "io/npy/npz.hpp"

namespace {

using namespace reprise;

Result<NamedArrays> read_any(const std::string& path) {
  if (path.ends_with(".npz")) return read_npz(path);
  REPRISE_ASSIGN(mlx::core::array array, read_npy(path));
  return NamedArrays{{"", array}};
}

std::string type_of(const mlx::core::array& array) {
  return to_string(
      TensorType{static_cast<DType>(array.dtype().val()), Shape(array.shape().begin(), array.shape().end())});
}

Status copy(const std::string& from, const std::string& to, NpzPacking packing) {
  REPRISE_ASSIGN(const NamedArrays arrays, read_any(from));
  return to.ends_with(".npz") ? write_npz(to, arrays, packing) : write_npy(to, arrays.at(0).second);
}

}  // namespace

int main(int count, char** words) {
  const std::string_view command = count > 2 ? words[1] : "";
  if (command == "check") {
    for (int i = 2; i < count; ++i) {
      const Result<NamedArrays> arrays = read_any(words[i]);
      std::string line = arrays ? "ok" : "error: " + arrays.error().message();
      if (arrays) {
        for (const auto& [name, array] : *arrays) line += fmt::format(" {}{}", name, type_of(array));
      }
      fmt::print("{}\n", line);
    }
    return 0;
  }
  if ((command != "copy" && command != "deflate") || count % 2 != 0) {
    fmt::print(stderr, "usage: npy_tool check FILE... | copy [FROM TO]... | deflate [FROM TO]...\n");
    return 2;
  }
  int failed = 0;
  for (int i = 2; i < count; i += 2) {
    const Status done = copy(words[i], words[i + 1], command == "copy" ? NpzPacking::stored : NpzPacking::deflated);
    if (done) continue;
    fmt::print(stderr, "{}\n", done.error().message());
    failed = 1;
  }
  return failed;
}
