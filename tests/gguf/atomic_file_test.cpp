#include "io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "gguf/temp_folder.hpp"

namespace reprise {
namespace {

using testing::TempFolder;
namespace fs = std::filesystem;

TEST(AtomicFile, WritesAndReplaces) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a", "one").ok());
  EXPECT_EQ(folder.read("a"), "one");
  ASSERT_TRUE(write_file_atomically(folder / "a", "").ok());
  EXPECT_EQ(folder.read("a"), "");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, OldContentStaysUntilCommit) {
  const TempFolder folder;
  folder.write("a", "old");
  {
    AtomicFile file = AtomicFile::create(folder / "a").value();
    ASSERT_TRUE(file.write("new").ok());
    AtomicFile moved = std::move(file);
    ASSERT_TRUE(moved.write("er").ok());
    EXPECT_EQ(folder.read("a"), "old");
    ASSERT_TRUE(moved.commit().ok());
    EXPECT_EQ(folder.read("a"), "newer");
    EXPECT_EQ(moved.write("x").error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(moved.commit().error().code(), ErrorCode::invalid_argument);
  }
  {
    AtomicFile given_up = AtomicFile::create(folder / "a").value();
    ASSERT_TRUE(given_up.write("x").ok());
  }
  EXPECT_EQ(folder.read("a"), "newer");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, KeepsPermissionsAndLinks) {
  const TempFolder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  fs::create_symlink("a", folder / "link");
  ASSERT_TRUE(write_file_atomically(folder / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(folder.read("a"), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

TEST(AtomicFile, TakesTheLongestName) {
  const TempFolder folder;
  const std::string name(255, 'n');
  ASSERT_TRUE(write_file_atomically(folder / name, "x").ok());
  EXPECT_EQ(folder.read(name), "x");
  EXPECT_FALSE(write_file_atomically(folder / (name + "n"), "x").ok());
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const TempFolder folder;
  const auto message = [](const std::string& path) { return write_file_atomically(path, "x").error().message(); };
  EXPECT_EQ(message("/dev/full"), "/dev/full: is a pipe, socket or device, wanted a regular file");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(message(folder.path().string()), folder.path().string() + ": is a directory, wanted a file");
  EXPECT_EQ(message(folder / "no/a"),
            folder / "no/a" + ": cannot create a file in its folder: No such file or directory");
  fs::create_symlink("nowhere/a", folder / "dangling");
  EXPECT_EQ(message(folder / "dangling"), folder / "dangling" + ": cannot follow the link: No such file or directory");
  EXPECT_EQ(message(""), "'': not a path of a file");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, SaysWhenItMayNotWrite) {
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  {
    const testing::WithoutRoot nobody;
    EXPECT_EQ(write_file_atomically(folder / "a", "x").error().message(),
              folder / "a" + ": cannot create a file in its folder: Permission denied");
  }
  EXPECT_EQ(folder.count(), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

// A limit on the size of files fails in the middle of a write, as a full disk does.
TEST(AtomicFile, AWriteThatFailsHalfwayLeavesTheOldFile) {
  const TempFolder folder;
  folder.write("a", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = write_file_atomically(folder / "a", std::string(1000000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), folder / "a" + ": cannot write: File too large");
  EXPECT_EQ(status.error().code(), ErrorCode::io);
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, ARenameThatFailsLeavesNothing) {
  const TempFolder folder;
  AtomicFile file = AtomicFile::create(folder / "a").value();
  ASSERT_TRUE(file.write("x").ok());
  fs::create_directory(folder / "a");
  EXPECT_EQ(file.commit().error().message(), folder / "a" + ": cannot rename to: Is a directory");
  EXPECT_EQ(folder.count(), 1);
}

}  // namespace
}  // namespace reprise
