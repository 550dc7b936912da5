#include "io/safetensors/safetensors.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "files.hpp"
#include "gguf/temp_folder.hpp"
#include "program/array_access.hpp"
#include "program/mlx_convert.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

class Safetensors : public ::testing::Test {
 protected:
  // The error of reading these bytes without the file's name in front, or "ok".
  std::string read(std::string_view bytes) {
    write_bytes(path_, bytes);
    const auto tensors = read_safetensors(path_);
    if (tensors) return "ok";
    EXPECT_TRUE(tensors.error().code() == ErrorCode::bad_file || tensors.error().code() == ErrorCode::unsupported);
    std::string text = tensors.error().message();
    return text.starts_with(path_ + ": ") ? text.substr(path_.size() + 2) : text;
  }
  std::string read(std::string_view header, std::size_t data) {
    return read(make_file(header, std::string(data, '\0')));
  }

  testing::TempFolder folder_;
  std::string path_ = folder_ / "t.safetensors";
};

mx::array ramp(DType dtype, const mx::Shape& shape) {
  auto array = mx::astype(
      mx::reshape(mx::arange(static_cast<int>(element_count(Shape(shape.begin(), shape.end())).value())), shape),
      to_mlx(dtype), mx::Device::cpu);
  array.eval();
  return array;
}

TEST_F(Safetensors, RoundTripsEveryDtype) {
  SafetensorsTensors tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const mx::Shape& shape : {mx::Shape{}, mx::Shape{0}, mx::Shape{3}, mx::Shape{2, 0, 5}, mx::Shape{2, 3, 1}}) {
      tensors.emplace_back(std::string(name(dtype)) + std::to_string(tensors.size()), ramp(dtype, shape));
    }
  }
  const SafetensorsMetadata metadata = {{"format", "reprise"}, {"empty", ""}, {"\xc3\xa9 \"q\"\n", "\xe2\x82\xac"}};
  const auto written = write_safetensors(path_, tensors, metadata);
  ASSERT_TRUE(written) << written.error().message();
  SafetensorsMetadata read_metadata;
  const auto back = read_safetensors(path_, &read_metadata);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(read_metadata, metadata);
  ASSERT_EQ(back->size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*back)[i].first, tensors[i].first);
    EXPECT_TRUE(same_content((*back)[i].second, tensors[i].second)) << tensors[i].first;
  }
}

TEST_F(Safetensors, MlxReadsWhatWeWriteAndWeReadWhatItWrites) {
  const SafetensorsTensors ours = {{"a", ramp(DType::bfloat16, {2, 3})}, {"b", ramp(DType::int64, {4})}};
  ASSERT_TRUE(write_safetensors(path_, ours).ok());
  auto theirs = mx::load_safetensors(path_).first;
  for (auto& [name, array] : theirs) array.eval();
  EXPECT_TRUE(same_content(theirs.at("a"), ours[0].second));
  EXPECT_TRUE(same_content(theirs.at("b"), ours[1].second));
  mx::save_safetensors(path_, {{"x", ours[0].second}, {"y", ours[1].second}}, {{"k", "v"}});
  SafetensorsMetadata metadata;
  const auto back = read_safetensors(path_, &metadata);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->size(), 2u);
  EXPECT_EQ(metadata, (SafetensorsMetadata{{"k", "v"}}));
}

TEST_F(Safetensors, ViewsAreWrittenDense) {
  const SafetensorsTensors tensors = {{"t", mx::transpose(ramp(DType::float32, {2, 3}))},
                                      {"b", mx::broadcast_to(mx::array(7), {2, 2})}};
  ASSERT_TRUE(write_safetensors(path_, tensors).ok());
  const auto back = read_safetensors(path_);
  ASSERT_TRUE(back);
  EXPECT_TRUE(same_content((*back)[0].second, tensors[0].second));
  EXPECT_TRUE(same_content((*back)[1].second, tensors[1].second));
}

TEST_F(Safetensors, ArraysCanBeUsedOnAnyThread) {
  ASSERT_TRUE(write_safetensors(path_, SafetensorsTensors{{"a", ramp(DType::float32, {3})}}).ok());
  float sum = 0;
  SafetensorsTensors tensors;
  std::thread([&] { tensors = read_safetensors(path_).value(); }).join();
  std::thread([&] { sum = mx::sum(tensors[0].second).item<float>(); }).join();
  EXPECT_EQ(sum, 3.0F);
}

TEST_F(Safetensors, WriterRefusesKeysThatNoReaderTakes) {
  const auto a = mx::array(1.0F);
  const auto message = [&](SafetensorsTensors tensors) {
    const auto status = write_safetensors(path_, tensors);
    return status ? std::string("ok") : status.error().message().substr(path_.size() + 2);
  };
  EXPECT_EQ(message({{"__metadata__", a}}), "tensor 0: no tensor can be called __metadata__");
  EXPECT_EQ(message({{"a", a}, {"a", a}}), "tensor 1: the name 'a' occurs twice");
  EXPECT_NE(message({{"\xff", a}}).find("invalid UTF-8"), std::string::npos);
  EXPECT_EQ(message({{"", a}}), "ok");
  EXPECT_FALSE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Safetensors, OnlyRegularFiles) {
  EXPECT_EQ(read_safetensors(folder_ / "missing").error().code(), ErrorCode::not_found);
  EXPECT_EQ(read_safetensors(folder_.path().string()).error().code(), ErrorCode::io);
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_safetensors(pipe).error().code(), ErrorCode::io);  // and does not wait for a writer
  EXPECT_EQ(read_safetensors("/dev/zero").error().code(), ErrorCode::io);
  EXPECT_FALSE(read_safetensors(std::string("a\0b", 3)));
}

// Faults that others had in public; each keeps its number.

TEST_F(Safetensors, B151_OffsetsShorterThanTheShape) {
  EXPECT_EQ(read(R"({"w":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4),
            "tensor \"w\": data_offsets [0, 4] hold 4 bytes; its shape and dtype take 4000000");
}

TEST_F(Safetensors, B153_AbsurdHeaderLength) {
  std::string file = make_file(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", std::string(4, '\0'));
  for (const std::uint64_t length : {std::uint64_t{2199142139136}, std::uint64_t{0}, std::uint64_t{file.size() - 7},
                                     UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63}) {
    std::memcpy(file.data(), &length, sizeof length);
    const std::string error = read(file);
    EXPECT_NE(error, "ok");
    if (length != 0) {
      EXPECT_EQ(error,
                "a header of " + std::to_string(length) + " bytes; wanted at most " + std::to_string(file.size() - 8));
    }
  }
}

TEST_F(Safetensors, B154_EmptyMetadata) {
  EXPECT_EQ(read(R"({"__metadata__":{},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "ok");
}

TEST_F(Safetensors, B156_ZeroSizesAndScalars) {
  const float value = 2.5F;
  std::string data(4, '\0');
  std::memcpy(data.data(), &value, 4);
  ASSERT_EQ(read(make_file(R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                           R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                           R"("f":{"dtype":"I64","shape":[2,0],"data_offsets":[4,4]}})",
                           data)),
            "ok");
  const auto tensors = read_safetensors(path_).value();
  EXPECT_EQ(type_of(tensors[0].second), (TensorType{DType::float32, {0}}));
  EXPECT_EQ(tensors[1].second.item<float>(), 2.5F);
  EXPECT_EQ(type_of(tensors[2].second), (TensorType{DType::int64, {2, 0}}));
}

TEST_F(Safetensors, B157_SizeMismatchIsAnErrorValue) {
  EXPECT_EQ(read(R"({"a":{"dtype":"F64","shape":[4],"data_offsets":[0,16]}})", 16),
            "tensor \"a\": data_offsets [0, 16] hold 16 bytes; its shape and dtype take 32");
}

TEST_F(Safetensors, B159_MetadataOnlyAndATensorOfThatName) {
  // As MLX writes it when it is given none.
  EXPECT_EQ(read(R"({"__metadata__":null,"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "ok");
  EXPECT_EQ(read(R"({"__metadata__":{"a":"b"}})", 0), "ok");
  EXPECT_TRUE(read_safetensors(path_).value().empty());
  EXPECT_EQ(read("{}", 0), "ok");
  EXPECT_EQ(read(R"({"__metadata__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
            "__metadata__ \"shape\" is an array; wanted a string (no tensor can be called __metadata__)");
}

}  // namespace
}  // namespace reprise
