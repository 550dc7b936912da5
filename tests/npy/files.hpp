// Files of bytes in a folder that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace reprise {

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string name = testing::TempDir() + "reprise-npy-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~FilesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string folder_;
};

/// A .npy file with this dictionary, as long as it has to be, and these elements.
inline std::string npy_bytes(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return file + dictionary + data;
}

}  // namespace reprise
