// B121: running on the CPU never calls a C++ compiler, there or not.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "runtime/support.hpp"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class Compiler : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"PATH", "TMPDIR"}) {
      const char* value = std::getenv(name);
      environment_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    }
    std::string pattern = (fs::temp_directory_path() / "reprise-compiler-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "bin");
    fs::create_directory(folder_ / "tmp");
  }
  void TearDown() override {
    for (const auto& [name, value] : environment_) {
      if (value) {
        setenv(name, value->c_str(), 1);
      } else {
        unsetenv(name);
      }
    }
    fs::remove_all(folder_);
  }

  // Enough element-wise work that MLX's graph compiler would fuse it.
  static void sigmoid_times_x() {
    Builder b;
    const Value x = b.input();
    const Executable exe = compiled(b, {b.sigmoid(x) * x + b.exp(-x) * b.constant(0.5f)});
    for (int i = 0; i < 3; ++i) {
      const auto y = values(run(exe, {floats({0, 1, -2})})[0]);
      EXPECT_NEAR(y[0], 0.5, 1e-6);
      EXPECT_NEAR(y[1], 0.9149983, 1e-6);
      EXPECT_NEAR(y[2], 3.4561222, 1e-6);
    }
  }

  fs::path folder_;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> environment_;
};

TEST_F(Compiler, B121_NoneIsNeeded) {
  ASSERT_EQ(setenv("PATH", "/nonexistent", 1), 0);
  sigmoid_times_x();
}

TEST_F(Compiler, B121_NoneIsCalled) {
  for (const char* name : {"g++", "c++", "cc", "gcc", "clang", "clang++", "sh"}) {
    const fs::path path = folder_ / "bin" / name;
    std::ofstream(path) << "#!/bin/sh\necho called > '" << (folder_ / "called").string() << "'\nexit 1\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  ASSERT_EQ(setenv("PATH", (folder_ / "bin").c_str(), 1), 0);
  ASSERT_EQ(setenv("TMPDIR", (folder_ / "tmp").c_str(), 1), 0);
  sigmoid_times_x();
  EXPECT_FALSE(fs::exists(folder_ / "called"));
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));  // where MLX leaves what it compiled
}

}  // namespace
}  // namespace reprise
