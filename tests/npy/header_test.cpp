#include "io/npy/header.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "npy/files.hpp"

namespace reprise {
namespace {

Result<NpyHeader> parse(const std::string& file) {
  std::size_t at = 0;
  return read_npy_header(file.size(), [&](std::span<std::byte> into) -> Status {
    if (into.size() > file.size() - at) return Error(ErrorCode::internal, "read past the end");
    if (!into.empty()) std::memcpy(into.data(), file.data() + at, into.size());
    at += into.size();
    return {};
  });
}

std::string error_of(const std::string& dictionary, const std::string& data = "", int version = 1) {
  const Result<NpyHeader> header = parse(npy_bytes(dictionary, data, version));
  return header ? "accepted" : header.error().message();
}

TEST(NpyHeader, WritesWhatNumpyWrites) {
  const std::string bytes = encode_npy_header({DType::float32, false, false, {2, 3}});
  EXPECT_EQ(bytes.size(), 128U);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00v\x00", 10));
  EXPECT_EQ(bytes.substr(10, 60), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ");
  EXPECT_EQ(bytes.back(), '\n');
}

TEST(NpyHeader, ReadsWhatItWrites) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bfloat16) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3}, Shape(64, 1)}) {
      const NpyHeader header{dtype, i % 2 == 1 && size_of(dtype) > 1, i % 3 == 0, shape};
      const Result<NpyHeader> back = parse(encode_npy_header(header) + std::string(npy_data_size(header), 'x'));
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_EQ(back->dtype, dtype);
      EXPECT_EQ(back->big_endian, header.big_endian);
      EXPECT_EQ(back->fortran_order, header.fortran_order);
      EXPECT_EQ(back->shape, shape);
    }
  }
}

TEST(NpyHeader, TakesAnyOrderQuotesAndVersions) {
  const std::string data(8, '\0');
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(error_of("{\"shape\":(2,),'fortran_order':True,'descr':'>i4'}", data, version), "accepted");
    EXPECT_EQ(error_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }   \n", data, version), "accepted");
  }
  EXPECT_EQ(error_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2L,)}", data), "accepted");
  EXPECT_NE(error_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2L,)}", data, 3), "accepted");
}

TEST(NpyHeader, SaysWhatIsWrong) {
  const auto shape_error = [](const std::string& shape) {
    return error_of("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", "12345678");
  };
  EXPECT_EQ(shape_error("(2,)"), "accepted");
  EXPECT_EQ(shape_error("(3,)"), "f32[3] takes 12 bytes, but 8 follow the header");
  EXPECT_EQ(shape_error("(1,)"), "f32[1] takes 4 bytes, but 8 follow the header");
  EXPECT_EQ(shape_error("(2)"), "header's shape is a number, wanted a tuple such as (3,)");
  EXPECT_EQ(shape_error("2"), "header text at 50: '2', wanted '(' of a shape");
  EXPECT_EQ(shape_error("(-2,)"), "header text at 51: '-', wanted an axis length of zero or more");
  EXPECT_EQ(shape_error("(02,)"), "header text at 51: '0', wanted an axis length without leading zeros");
  EXPECT_EQ(shape_error("(2 2)"), "header text at 53: '2', wanted ',' or ')'");
  EXPECT_EQ(shape_error("(,)"), "header text at 51: ',', wanted an axis length of zero or more");
  EXPECT_EQ(shape_error("(2,"), "header text at 53: '}', wanted an axis length of zero or more");
  EXPECT_EQ(shape_error("(99999999999999999999,)"), "shape's axis 0 does not fit in 64 bits");
  EXPECT_EQ(shape_error("(1, 4294967296)"), "shape's axis 1 has 4294967296 elements, at most 2147483647 are supported");
  EXPECT_EQ(shape_error("(2147483647, 2147483647, 4, 4, 4)"),
            "shape [2147483647, 2147483647, 4, 4, 4] has more elements than can be counted");
  EXPECT_EQ(shape_error("(2147483647, 2147483647)"),
            "f32[2147483647, 2147483647] takes 18446744056529682436 bytes, but 8 follow the header");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_EQ(shape_error(many + ")"), "shape has more than 64 axes");

  const auto type_error = [](const std::string& descr) {
    return error_of("{'descr': " + descr + ", 'fortran_order': False, 'shape': ()}", "12");
  };
  EXPECT_EQ(type_error("'<f2'"), "accepted");
  EXPECT_NE(type_error("'<V2'").find("bfloat16"), std::string::npos);
  EXPECT_NE(type_error("'|V2'").find("bfloat16"), std::string::npos);
  EXPECT_NE(type_error("'<c16'").find("complex128"), std::string::npos);
  EXPECT_NE(type_error("'|O'").find("pickled"), std::string::npos);
  EXPECT_NE(type_error("'<M8[ns]'").find("dates"), std::string::npos);
  EXPECT_NE(type_error("[('x', '<f4')]").find("records"), std::string::npos);
  EXPECT_EQ(type_error("'<U3'"),
            "element type '<U3' is not a tensor's; wanted b1, u1 to u8, i1 to i8, f2, f4, f8 or c8");
  EXPECT_EQ(type_error("''"), "element type '': wanted '<', '>' or '|' before the kind");
  EXPECT_EQ(type_error("'=f2'"), "element type '=f2': wanted '<', '>' or '|' before the kind");
  EXPECT_EQ(type_error("'|f2'"), "element type '|f2' of several bytes names no byte order, wanted '<' or '>'");
  EXPECT_EQ(error_of("{'descr': '<f2"), "header text at 14: ends, wanted a closing quote");

  EXPECT_EQ(error_of(""), "header text at 0: ends, wanted '{'");
  EXPECT_EQ(error_of("{}"), "header has no key 'descr'");
  EXPECT_EQ(error_of("{'descr': '<f4', 'shape': ()}"), "header has no key 'fortran_order'");
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False}"), "header has no key 'shape'");
  EXPECT_EQ(error_of("{'descr': '<f4', 'descr': '<f4'}"), "header has key 'descr' twice");
  EXPECT_EQ(error_of("{'x': 1}"), "header has key 'x', wanted 'descr', 'fortran_order' and 'shape'");
  EXPECT_EQ(error_of("{'fortran_order': 1}"), "header text at 18: '1', wanted True or False");
  EXPECT_EQ(error_of("{'a\\n': 1}"), "header text at 3: '\\', wanted a plain character or a quote");
}

TEST(NpyHeader, LiesAboutItsOwnLength) {
  std::string file = npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "x", 2);
  file[8] = file[9] = file[10] = file[11] = '\xff';
  EXPECT_EQ(parse(file).error().message(), "header of 4294967295 bytes, but only 54 bytes follow");
  const std::string large = npy_bytes(std::string(70000, ' '), "", 2);
  EXPECT_EQ(parse(large).error().message(), "header of 70000 bytes, at most 65536 are read");
  EXPECT_EQ(parse("\x93NUMPY\4" + std::string(9, '\0')).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(parse("").error().message(), "not a npy file: it has 0 bytes, a header at least 10");
  EXPECT_EQ(parse(std::string(100, 'x')).error().message(), "not a npy file: it does not begin with '\\x93NUMPY'");
}

}  // namespace
}  // namespace reprise
