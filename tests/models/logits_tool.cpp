// Token ids on standard input, logits to a file, for the Python tests that compare them with NumPy's.
//
//   logits_tool MODEL.gguf OUT.f32 BACKEND < ids      raw float32, a row of the vocabulary's size for each id
#include <fstream>
#include <iostream>
#include <vector>

#include "reprise/text_model.hpp"

namespace {

int run(const char* model_path, const char* out_path, const char* backend) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; std::cin >> id;) ids.push_back(id);
  const reprise::TextModel model =
      reprise::TextModel::load(model_path, {.backend = reprise::parse_backend(backend).value()}).value();
  const std::vector<float> logits = model.logits(ids).value();
  std::ofstream out(out_path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
  return out.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: logits_tool MODEL.gguf OUT.f32 BACKEND < ids\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
