// What type do a half-precision tensor and an integer tensor give?
#include <iostream>
#include <reprise/dtype.hpp>
#include <reprise/status.hpp>
#include <string_view>

namespace {

reprise::Result<reprise::DType> parse(std::string_view text) {
  if (auto dtype = reprise::dtype_from_name(text)) return *dtype;
  return reprise::Error(reprise::ErrorCode::invalid_argument, "no element type is called " + std::string(text));
}

}  // namespace

int main(int count, char** words) {
  const auto a = parse(count > 1 ? words[1] : "float16");
  const auto b = parse(count > 2 ? words[2] : "int32");
  for (const auto* dtype : {&a, &b}) {
    if (dtype->ok()) continue;
    std::cerr << dtype->error().message() << '\n';
    return 1;
  }
  std::cout << name(*a) << " with " << name(*b) << " gives " << name(reprise::promote(*a, *b)) << '\n';
}
