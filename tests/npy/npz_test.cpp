#include "io/npy/npz.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>
#include <zip.h>

#include "npy/files.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

class Npz : public FilesTest {
 protected:
  struct Packed {
    std::string name, bytes;
    zip_int32_t method = ZIP_CM_STORE;
  };

  // An archive with any members, made by libzip.
  std::string archive(const std::vector<Packed>& members) const {
    const std::string name = path("made.npz");
    std::filesystem::remove(name);
    zip_t* zip = zip_open(name.c_str(), ZIP_CREATE, nullptr);
    for (const Packed& member : members) {
      zip_source_t* source = zip_source_buffer(zip, member.bytes.data(), member.bytes.size(), 0);
      const zip_int64_t index = zip_file_add(zip, member.name.c_str(), source, 0);
      EXPECT_GE(index, 0);
      zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), member.method, 0);
    }
    EXPECT_EQ(zip_close(zip), 0);
    return name;
  }

  static std::string error_of(const Result<NamedArrays>& arrays) {
    return arrays ? "accepted" : arrays.error().message();
  }
};

const std::string kOne = npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "x");

TEST_F(Npz, NamesOrderAndValuesComeBack) {
  const NamedArrays arrays{{"weight", mx::array({1.0F, 2.0F})},
                           {"a/b.npy", mx::transpose(mx::array({1, 2, 3, 4}, {2, 2}))},
                           {"größe", mx::array(true)},
                           {"none", mx::zeros({0, 3})}};
  for (const NpzPacking packing : {NpzPacking::stored, NpzPacking::deflated}) {
    ASSERT_TRUE(write_npz(path("x.npz"), arrays, packing));
    const Result<NamedArrays> back = read_npz(path("x.npz"));
    ASSERT_TRUE(back) << back.error().message();
    ASSERT_EQ(back->size(), arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ((*back)[i].first, arrays[i].first);
      EXPECT_TRUE(mx::array_equal((*back)[i].second, arrays[i].second).item<bool>());
    }
  }
}

TEST_F(Npz, SameArraysSameBytes) {
  const NamedArrays arrays{{"x", mx::array({1.0F, 2.0F})}};
  ASSERT_TRUE(write_npz(path("x.npz"), arrays));
  ASSERT_TRUE(write_npz(path("y.npz"), arrays));
  EXPECT_EQ(read("x.npz"), read("y.npz"));
}

TEST_F(Npz, NoArraysAtAll) {
  ASSERT_TRUE(write_npz(path("x.npz"), {}));
  const Result<NamedArrays> back = read_npz(path("x.npz"));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(back->empty());
}

TEST_F(Npz, BadNamesAreNotWritten) {
  const mx::array x({1.0F});
  EXPECT_FALSE(write_npz(path("x.npz"), {{"", x}}));
  EXPECT_FALSE(write_npz(path("x.npz"), {{"a", x}, {"a", x}}));
  EXPECT_FALSE(write_npz(path("x.npz"), {{std::string("a\0b", 3), x}}));
  EXPECT_FALSE(write_npz(path("x.npz"), {{"\xff\xfe", x}}));
  EXPECT_TRUE(listing().empty());
}

TEST_F(Npz, StrangeMembersAreNamed) {
  EXPECT_EQ(error_of(read_npz(archive({{"x.npy", kOne}, {"README", "hello"}}))),
            path("made.npz") + ": member 'README' is no array, wanted names that end with .npy");
  EXPECT_EQ(error_of(read_npz(archive({{"x.npy", "hello"}}))),
            path("made.npz") + ": member 'x.npy': not a npy file: it has 5 bytes, a header at least 10");
  EXPECT_EQ(error_of(read_npz(archive({{".npy", kOne}}))),
            path("made.npz") + ": member '.npy' is no array, wanted names that end with .npy");
  EXPECT_EQ(error_of(read_npz(archive({{"x.npy", kOne + kOne}}))),
            path("made.npz") + ": member 'x.npy': u8[1] takes 1 bytes, but 67 follow the header");
}

TEST_F(Npz, NotAnArchive) {
  EXPECT_EQ(error_of(read_npz(path("none.npz"))), path("none.npz") + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of(read_npz(path(""))), path("") + ": is a directory, wanted a file");
  EXPECT_FALSE(read_npz("/dev/zero"));
  EXPECT_NE(error_of(read_npz(write("x.npz", "garbage"))).find("cannot read as a npz file"), std::string::npos);
  EXPECT_FALSE(read_npz(write("x.npz", "")));
  EXPECT_FALSE(read_npz(write("x.npz", std::string(100000, 'P'))));
}

TEST_F(Npz, TruncatedAnywhereIsAnError) {
  for (const zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    archive({{"x.npy", kOne, method}, {"y.npy", kOne, method}});
    const std::string whole = read("made.npz");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(read_npz(write("cut.npz", whole.substr(0, length)))) << length;
    }
  }
}

TEST_F(Npz, MutatedAnywhereIsReadOrRefused) {
  for (const zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    archive({{"x.npy", kOne, method}, {"y.npy", kOne, method}});
    std::string file = read("made.npz");
    for (std::size_t at = 0; at < file.size(); ++at) {
      for (const int flip : {0x01, 0x80, 0xff, 0x40}) {
        file[at] = static_cast<char>(file[at] ^ flip);
        const Result<NamedArrays> arrays = read_npz(write("bad.npz", file));
        if (!arrays) {
          EXPECT_EQ(arrays.error().message().find('\n'), std::string::npos);
        }
        file[at] = static_cast<char>(file[at] ^ flip);
      }
    }
  }
}

// Sets the unpacked size in the first member's entry of the central directory.
void claim_size(std::string& file, std::uint32_t size) {
  const std::size_t entry = file.find("PK\1\2");
  ASSERT_NE(entry, std::string::npos);
  for (int i = 0; i < 4; ++i) file[entry + 24 + i] = static_cast<char>(size >> (8 * i) & 0xff);
}

TEST_F(Npz, SizesThatCannotBeAreRefusedBeforeMemoryIsAskedFor) {
  // A header that asks for 2 GiB, in a member whose entry agrees with it.
  const std::string liar = npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (2000000000,)}", "x");
  for (const zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    archive({{"x.npy", liar, method}});
    std::string file = read("made.npz");
    claim_size(file, static_cast<std::uint32_t>(liar.size() - 1 + 2000000000));
    const std::string error = error_of(read_npz(write("bad.npz", file)));
    EXPECT_NE(error, "accepted");
    if (method == ZIP_CM_DEFLATE) {
      EXPECT_NE(error.find("more than 1032 times as many"), std::string::npos) << error;
    }
  }
  // One that claims a little more or less than it has.
  for (const int difference : {-1, 1, 1000}) {
    archive({{"x.npy", kOne, ZIP_CM_DEFLATE}});
    std::string file = read("made.npz");
    claim_size(file, static_cast<std::uint32_t>(static_cast<int>(kOne.size()) + difference));
    EXPECT_FALSE(read_npz(write("bad.npz", file)));
  }
}

TEST_F(Npz, HighlyPackedMembersAreFine) {
  ASSERT_TRUE(write_npz(path("x.npz"), {{"zeros", mx::zeros({1 << 20})}}, NpzPacking::deflated));
  EXPECT_LT(std::filesystem::file_size(path("x.npz")), 10000U);
  const Result<NamedArrays> back = read_npz(path("x.npz"));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ((*back)[0].second.size(), 1U << 20);
}

}  // namespace
}  // namespace reprise
