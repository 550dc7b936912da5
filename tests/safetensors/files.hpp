// safetensors files byte by byte.
//
//   write_bytes(path, make_file(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", std::string(4, '\0')));
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace reprise {

inline std::string make_file(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  out += header;
  out += data;
  return out;
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace reprise
