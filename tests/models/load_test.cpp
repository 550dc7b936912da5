// Model files that are wrong in one way each: a clear error, never a wrong answer.
#include <gtest/gtest.h>

#include <functional>

#include "models/tiny_llama.hpp"
#include "reprise/text_model.hpp"

namespace reprise {
namespace {

using testing::TempFolder;
using testing::TinyLlama;

struct Fault {
  const char* name;
  std::function<void(TinyLlama&)> bend;
  ErrorCode code;
  std::vector<std::string> says;  ///< what the message has in it
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, AreNamed) {
  const TempFolder folder;
  TinyLlama tiny;
  GetParam().bend(tiny);
  const std::string path = tiny.write(folder, "bad.gguf");
  const Result<TextModel> model = TextModel::load(path);
  ASSERT_FALSE(model);
  const std::string& message = model.error().message();
  EXPECT_EQ(model.error().code(), GetParam().code) << message;
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  for (const std::string& part : GetParam().says) EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

constexpr auto kBad = ErrorCode::bad_file;
constexpr auto kUnsupported = ErrorCode::unsupported;
constexpr auto kNotFound = ErrorCode::not_found;

auto set(std::string key, std::uint32_t value) {
  return [=](TinyLlama& tiny) { tiny.set_u32(key, value); };
}
auto set_or_add(std::string key, std::uint32_t value) {
  return [=](TinyLlama& tiny) { tiny.add_u32(key, value); };
}
auto without_entry(std::string key) {
  return [=](TinyLlama& tiny) { tiny.erase_entry(key); };
}
auto without_tensor(std::string name) {
  return [=](TinyLlama& tiny) { tiny.erase_tensor(name); };
}
auto reshaped(std::string name, std::vector<std::uint64_t> dims, std::uint32_t type) {
  return [=](TinyLlama& tiny) {
    tiny.erase_tensor(name);
    tiny.add(name, dims, type);
  };
}
auto extra(std::string name) {
  return [=](TinyLlama& tiny) { tiny.add(name, {64}, TinyLlama::kF32); };
}

INSTANTIATE_TEST_SUITE_P(
    Metadata, Faults,
    ::testing::Values(
        Fault{"architecture",
              [](TinyLlama& tiny) {
                tiny.erase_entry("general.architecture");
                tiny.add_string("general.architecture", "qwen2");
              },
              kUnsupported,
              {"architecture 'qwen2' is not supported; wanted llama"}},
        Fault{"no_architecture", without_entry("general.architecture"), kNotFound, {"'general.architecture'"}},
        Fault{"architecture_is_a_number", set("general.architecture", 3), kBad, {"'general.architecture'", "string"}},
        Fault{"no_layers", set("llama.block_count", 0), kBad, {"'llama.block_count' is 0; wanted 1 to"}},
        Fault{"missing_layers", without_entry("llama.block_count"), kNotFound, {"'llama.block_count'"}},
        Fault{"more_layers_than_tensors", set("llama.block_count", 3), kNotFound, {"blk.2.attn_norm.weight"}},
        Fault{"fewer_layers_than_tensors", set("llama.block_count", 1), kUnsupported, {"blk.1."}},
        Fault{"absurd_layers", set("llama.block_count", 4000000000), kBad, {"4000000000"}},
        Fault{"absurd_width", set("llama.embedding_length", 4294967295), kBad, {"4294967295"}},
        Fault{"other_width", set("llama.embedding_length", 128), kBad, {"'token_embd.weight'", "[259, 64]"}},
        Fault{"absurd_hidden", set("llama.feed_forward_length", 1u << 30), kBad, {"ffn_gate", "1073741824"}},
        Fault{"no_hidden", set("llama.feed_forward_length", 0), kBad, {"'llama.feed_forward_length' is 0"}},
        Fault{"no_context", set("llama.context_length", 0), kBad, {"'llama.context_length' is 0"}},
        Fault{"no_heads", set("llama.attention.head_count", 0), kBad, {"head_count' is 0"}},
        Fault{"heads_do_not_divide", set("llama.attention.head_count", 3), kBad, {"3"}},
        Fault{"kv_heads_do_not_divide", set("llama.attention.head_count_kv", 3), kBad, {"4 query heads", "3"}},
        Fault{"more_kv_heads_than_heads", set("llama.attention.head_count_kv", 8), kBad, {"4 query heads", "8"}},
        Fault{"absurd_head_width", set_or_add("llama.attention.key_length", 1u << 30), kBad, {"attn_q"}},
        Fault{"values_of_another_width", set_or_add("llama.attention.value_length", 8), kUnsupported, {"16", "8"}},
        Fault{"odd_rope", set_or_add("llama.rope.dimension_count", 7), kBad, {"dimension_count' is 7"}},
        Fault{"wide_rope", set_or_add("llama.rope.dimension_count", 18), kBad, {"dimension_count' is 18"}},
        Fault{"negative_rope_base",
              [](TinyLlama& tiny) { tiny.add_f32("llama.rope.freq_base", -1); },
              kBad,
              {"'llama.rope.freq_base' is -1"}},
        Fault{"norm_eps_is_nan",
              [](TinyLlama& tiny) { tiny.add_f32("llama.attention.layer_norm_rms_epsilon", NAN); },
              kBad,
              {"epsilon' is nan"}},
        Fault{"yarn",
              [](TinyLlama& tiny) { tiny.add_string("llama.rope.scaling.type", "yarn"); },
              kUnsupported,
              {"'yarn'", "none and linear"}},
        Fault{"experts", set_or_add("llama.expert_count", 8), kUnsupported, {"mixture of 8 experts"}}),
    [](const auto& fault) { return fault.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Tensors, Faults,
    ::testing::Values(
        Fault{"no_embedding", without_tensor("token_embd.weight"), kNotFound, {"'token_embd.weight'", "missing"}},
        Fault{"no_output_norm", without_tensor("output_norm.weight"), kNotFound, {"'output_norm.weight'", "missing"}},
        Fault{"no_up", without_tensor("blk.1.ffn_up.weight"), kNotFound, {"'blk.1.ffn_up.weight'", "missing"}},
        Fault{"bias", extra("blk.0.attn_q.bias"), kUnsupported, {"'blk.0.attn_q.bias' is not part of"}},
        Fault{"unknown", extra("something.weight"), kUnsupported, {"'something.weight' is not part of"}},
        Fault{"transposed",
              reshaped("blk.0.ffn_down.weight", {64, 96}, TinyLlama::kF32),
              kBad,
              {"'blk.0.ffn_down.weight' is [96, 64]; wanted [64, 96]"}},
        Fault{"long_norm", reshaped("blk.0.attn_norm.weight", {65}, TinyLlama::kF32), kBad, {"[65]; wanted [64]"}},
        Fault{"norm_of_two_axes",
              reshaped("output_norm.weight", {64, 1}, TinyLlama::kF32),
              kBad,
              {"[1, 64]; wanted [64]"}},
        Fault{"flat_embedding", reshaped("token_embd.weight", {64}, TinyLlama::kF32), kBad, {"token_embd.weight"}},
        Fault{"small_output",
              [](TinyLlama& tiny) {
                tiny.add("output.weight", {64, 258}, TinyLlama::kQ8_0);
              },
              kBad,
              {"'output.weight' is [258, 64]; wanted [259, 64]"}},
        Fault{"long_rope_freqs",
              [](TinyLlama& tiny) { tiny.add("rope_freqs.weight", {16}, TinyLlama::kF32); },
              kBad,
              {"'rope_freqs.weight' is [16]; wanted [8]"}},
        Fault{"quantised_norm",
              reshaped("output_norm.weight", {64}, TinyLlama::kQ8_0),
              kUnsupported,
              {"output_norm.weight", "Q8_0"}},
        Fault{"q6_k",
              [](TinyLlama& tiny) {
                tiny.tensors.push_back(
                    {"output.weight", {256, 259}, TinyLlama::kQ6_K, testing::Bytes(std::size_t{210} * 259)});
              },
              kUnsupported,
              {"'output.weight'", "Q6_K"}},
        Fault{"truncated",
              [](TinyLlama& tiny) { tiny.tensor("output_norm.weight").data.resize(100); },
              kBad,
              {"'output_norm.weight'", "takes 256 bytes", "the file has"}}),
    [](const auto& fault) { return fault.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Vocabulary, Faults,
    ::testing::Values(
        Fault{"tokens_missing", without_entry("tokenizer.ggml.tokens"), kNotFound, {"'tokenizer.ggml.tokens'"}},
        Fault{"merges_missing", without_entry("tokenizer.ggml.merges"), kNotFound, {"'tokenizer.ggml.merges'"}},
        Fault{"fewer_rows",
              reshaped("token_embd.weight", {64, 200}, TinyLlama::kQ8_0),
              kBad,
              {"the tokenizer has 259 tokens, the embedding 200 rows"}},
        Fault{"end_out_of_range", set("tokenizer.ggml.eos_token_id", 259), kBad, {"259"}},
        Fault{"other_tokenizer",
              [](TinyLlama& tiny) {
                tiny.erase_entry("tokenizer.ggml.model");
                tiny.add_string("tokenizer.ggml.model", "llama");
              },
              kUnsupported,
              {"tokenizer model 'llama' is not supported"}},
        Fault{"unknown_pre_tokenizer",
              [](TinyLlama& tiny) {
                tiny.erase_entry("tokenizer.ggml.pre");
                tiny.add_string("tokenizer.ggml.pre", "no-such");
              },
              kUnsupported,
              {"no-such"}}),
    [](const auto& fault) { return fault.param.name; });

TEST(Load, TheUnbentModelLoads) {
  const TempFolder folder;
  std::size_t calls = 0;
  std::size_t total = 0;
  const auto progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(done, ++calls);
    total = all;
  };
  const TextModel model = TextModel::load(TinyLlama().write(folder, "tiny.gguf"), {.progress = progress}).value();
  EXPECT_EQ(calls, total);
  EXPECT_EQ(total, 20U);
  EXPECT_EQ(model.context(), 1024);
  EXPECT_EQ(model.vocabulary(), 259);
}

TEST(Load, AFileCutAnywhereIsAnError) {
  const TempFolder folder;
  const testing::Bytes whole = TinyLlama().build();
  for (const double part : {0.0, 0.0001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.9999}) {
    const auto size = static_cast<std::size_t>(static_cast<double>(whole.size()) * part);
    const std::string path = folder.write("cut.gguf", std::span(whole).first(size));
    const auto model = TextModel::load(path);
    ASSERT_FALSE(model) << size;
    EXPECT_EQ(model.error().code(), kBad) << model.error().message();
  }
}

TEST(Load, OtherFilesAreErrors) {
  const TempFolder folder;
  EXPECT_EQ(TextModel::load(folder / "none.gguf").error().code(), kNotFound);
  EXPECT_EQ(TextModel::load(folder.write("a.gguf", "reprise 1\ninputs 0\nreturn\n")).error().code(), kBad);
  EXPECT_FALSE(TextModel::load(folder.path().string()));
}

}  // namespace
}  // namespace reprise
