#include "io/npy/npy.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "npy/files.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Npy : public FilesTest {};

TEST_F(Npy, EveryTypeComesBack) {
  const mx::array source({0.0F, 1.0F, 2.0F, 100.0F, 3.0F, 1.0F}, {2, 3});
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const mx::array x =
        mx::astype(source, mx::Dtype(static_cast<mx::Dtype::Val>(i), static_cast<std::uint8_t>(size_of(dtype))));
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    const Result<mx::array> y = read_npy(path("x.npy"));
    ASSERT_TRUE(y) << y.error().message();
    EXPECT_EQ(y->dtype(), dtype == DType::bfloat16 ? mx::float32 : x.dtype());
    EXPECT_TRUE(mx::array_equal(x, *y).item<bool>()) << name(dtype);
  }
}

TEST_F(Npy, ShapesOfAllRanks) {
  for (const mx::Shape& shape : {mx::Shape{}, mx::Shape{0}, mx::Shape{1}, mx::Shape{3, 0, 2}, mx::Shape{2, 3, 4, 5}}) {
    const mx::array x = mx::random::normal(shape);
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    const Result<mx::array> y = read_npy(path("x.npy"));
    ASSERT_TRUE(y) << y.error().message();
    EXPECT_EQ(y->shape(), shape);
    EXPECT_TRUE(mx::array_equal(x, *y).item<bool>());
  }
}

TEST_F(Npy, ViewsAreWrittenRowMajor) {
  const mx::array x = mx::reshape(mx::arange(24), {2, 3, 4});
  const mx::array views[] = {mx::transpose(x, {2, 0, 1}), mx::slice(x, {0, 1, 0}, {2, 3, 4}, {1, 1, 2}),
                             mx::broadcast_to(mx::array({1, 2, 3}), {4, 3}), mx::astype(mx::transpose(x), mx::bfloat16),
                             mx::slice(mx::arange(10), {9}, {-11}, {-1})};
  for (const mx::array& view : views) {
    ASSERT_TRUE(write_npy(path("x.npy"), view));
    const Result<mx::array> y = read_npy(path("x.npy"));
    ASSERT_TRUE(y) << y.error().message();
    EXPECT_TRUE(y->flags().row_contiguous);
    EXPECT_TRUE(mx::array_equal(view, *y).item<bool>());
  }
}

TEST_F(Npy, FortranOrderAndBigEndianAreBroughtToRowMajor) {
  const std::string dictionary = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}";
  const Result<mx::array> x = decode_npy(bytes_of(npy_bytes(dictionary, {"\0\1\0\4\0\2\0\5\0\3\1\0", 12})));
  ASSERT_TRUE(x) << x.error().message();
  const std::int16_t wanted[] = {1, 2, 3, 4, 5, 256};
  EXPECT_EQ(std::memcmp(x->data<std::int16_t>(), wanted, sizeof wanted), 0);
}

TEST_F(Npy, ComplexPartsAreSwappedEachForItself) {
  const std::string dictionary = "{'descr': '>c8', 'fortran_order': False, 'shape': ()}";
  const Result<mx::array> x = decode_npy(bytes_of(npy_bytes(dictionary, {"\x3f\x80\0\0\x40\0\0\0", 8})));
  ASSERT_TRUE(x) << x.error().message();
  EXPECT_EQ(x->data<mx::complex64_t>()[0], mx::complex64_t(1.0F, 2.0F));
}

TEST_F(Npy, BooleansAreZeroOrOne) {
  const std::string file = npy_bytes("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", {"\0\1\2", 3});
  EXPECT_EQ(decode_npy(bytes_of(file)).error().message(), "boolean element 2 is 2, wanted 0 or 1");
}

TEST_F(Npy, ArraysReadOnAnotherThreadCanBeUsedHere) {
  ASSERT_TRUE(write_npy(path("x.npy"), mx::array({1.0F, 2.0F})));
  std::vector<mx::array> arrays;
  std::thread([&] { arrays.push_back(read_npy(path("x.npy")).value()); }).join();
  EXPECT_EQ(mx::sum(arrays[0]).item<float>(), 3.0F);
}

TEST_F(Npy, TruncatedAnywhereIsAnError) {
  ASSERT_TRUE(write_npy(path("x.npy"), mx::array({1.0F, 2.0F, 3.0F})));
  const std::string whole = read("x.npy");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Result<mx::array> x = decode_npy(bytes_of(whole.substr(0, length)));
    ASSERT_FALSE(x) << length;
    EXPECT_EQ(x.error().message().find('\n'), std::string::npos);
    write("cut.npy", whole.substr(0, length));
    EXPECT_FALSE(read_npy(path("cut.npy")));
  }
  EXPECT_EQ(decode_npy(bytes_of(whole + "x")).error().message(), "f32[3] takes 12 bytes, but 13 follow the header");
}

// Whatever byte is changed to whatever: a value or an error, no crash, and never more memory than the file's size.
TEST_F(Npy, MutatedAnywhereIsReadOrRefused) {
  ASSERT_TRUE(write_npy(path("x.npy"), mx::array({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2})));
  std::string file = read("x.npy");
  int accepted = 0;
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      const char before = std::exchange(file[at], static_cast<char>(value));
      const Result<mx::array> x = decode_npy(bytes_of(file));
      if (x) {
        EXPECT_EQ(x->nbytes(), 16U);
        ++accepted;
      } else {
        EXPECT_EQ(x.error().message().find('\n'), std::string::npos);
      }
      file[at] = before;
    }
  }
  EXPECT_GT(accepted, 16 * 256);  // the elements can be anything
}

TEST_F(Npy, OnlyRegularFilesAreRead) {
  EXPECT_EQ(read_npy(path("none.npy")).error().message(),
            path("none.npy") + ": cannot open: No such file or directory");
  EXPECT_EQ(read_npy(path("none.npy")).error().code(), ErrorCode::not_found);
  EXPECT_EQ(read_npy(path("")).error().message(), path("") + ": is a directory, wanted a file");
  EXPECT_EQ(read_npy("/dev/zero").error().message(), "/dev/zero: is a pipe, socket or device, wanted a regular file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_npy(path("pipe")));
  EXPECT_EQ(read_npy(write("empty.npy", "")).error().message(),
            path("empty.npy") + ": not a npy file: it has 0 bytes, a header at least 10");
}

TEST_F(Npy, DevicesAndFoldersAreNotReplaced) {
  const mx::array x({1.0F});
  EXPECT_FALSE(write_npy("/dev/full", x));
  struct stat info {};
  ASSERT_EQ(::stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_FALSE(write_npy(path(""), x));
  EXPECT_FALSE(write_npy(path("none/x.npy"), x));
}

TEST_F(Npy, AFullDiskLeavesTheOldFile) {
  write("x.npy", "old");
  // A limit of the size of files stands for a full disk: the write fails half-way.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_npy(path("x.npy"), mx::zeros({1000}));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message(), path("x.npy") + ": cannot write: File too large");
  EXPECT_EQ(read("x.npy"), "old");
  EXPECT_EQ(listing(), std::vector<std::string>{"x.npy"});
}

TEST_F(Npy, AnArrayThatCannotBeEvaluatedIsAnError) {
  const mx::array singular = mx::linalg::inv(mx::zeros({2, 2}), mx::Device(mx::Device::cpu));
  const Status written = write_npy(path("x.npy"), singular);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::runtime);
  EXPECT_TRUE(listing().empty());
}

}  // namespace
}  // namespace reprise
