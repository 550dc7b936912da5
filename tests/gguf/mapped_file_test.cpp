#include "io/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "gguf/temp_folder.hpp"

namespace reprise {
namespace {

using testing::TempFolder;

std::string text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, GivesTheBytesAndMovesWithoutCopying) {
  const TempFolder folder;
  MappedFile file = MappedFile::open(folder.write("a", "hello")).value();
  EXPECT_EQ(text(file), "hello");
  const auto* address = file.bytes().data();
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().data(), address);
  file = MappedFile::open(folder.write("b", "other")).value();
  file = std::move(moved);
  EXPECT_EQ(text(file), "hello");
}

TEST(MappedFile, NamesWhatIsWrong) {
  const TempFolder folder;
  const auto message = [](const std::string& path) { return MappedFile::open(path).error().message(); };
  const std::string missing = folder / "missing";
  EXPECT_EQ(message(missing), missing + ": cannot open: No such file or directory");
  EXPECT_EQ(MappedFile::open(missing).error().code(), ErrorCode::not_found);
  EXPECT_EQ(message(folder.path().string()), folder.path().string() + ": is a directory, wanted a file");
  const std::string empty = folder.write("empty", "");
  EXPECT_EQ(message(empty), empty + ": is empty: expected content, found 0 bytes");
  EXPECT_EQ(MappedFile::open(empty).error().code(), ErrorCode::bad_file);
  EXPECT_EQ(message(std::string("a\0b", 3)), "a: the path holds a zero byte");
  EXPECT_FALSE(MappedFile::open("").ok());
}

TEST(MappedFile, RefusesPipesAndDevicesWithoutWaiting) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(MappedFile::open(path).error().message(), path + ": is a pipe, socket or device, wanted a regular file");
  }
}

TEST(MappedFile, SaysWhenItMayNotRead) {
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const testing::WithoutRoot nobody;
  EXPECT_EQ(MappedFile::open(path).error().message(), path + ": cannot open: Permission denied");
}

}  // namespace
}  // namespace reprise
