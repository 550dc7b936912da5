// A folder that goes with the object, and what lies in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace reprise::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "reprise-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make a folder like " << pattern;
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

  std::string write(std::string_view name, std::span<const std::byte> bytes) const {
    const std::string path = *this / name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string write(std::string_view name, std::string_view text) const {
    return write(name, std::as_bytes(std::span(text)));
  }

  std::string read(std::string_view name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  /// Names of files in the folder, hidden ones too.
  int count() const { return static_cast<int>(std::distance(std::filesystem::directory_iterator(path_), {})); }

 private:
  std::filesystem::path path_;
};

/// Permissions do not bind root, so a root test becomes nobody for the lifetime of this.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) ADD_FAILURE() << "root cannot become nobody";
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;
  ~WithoutRoot() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "nobody cannot become root again";
  }

 private:
  bool was_root_;
};

}  // namespace reprise::testing
