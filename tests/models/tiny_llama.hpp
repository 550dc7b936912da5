// A small model of the Llama family with random weights, as a GGUF file that tests can bend before it is written.
//
//   TinyLlama tiny;
//   tiny.erase_tensor("blk.1.ffn_up.weight");
//   const std::string path = tiny.write(folder, "tiny.gguf");
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_bytes.hpp"
#include "gguf/temp_folder.hpp"
#include "io/gguf/half.hpp"
#include "models/tokenizer/byte_alphabet.hpp"

namespace reprise::testing {

using gguf::testing::append;
using gguf::testing::append_string;
using gguf::testing::Bytes;
using gguf::testing::bytes_of;
using gguf::testing::GgufBytes;

class TinyLlama {
 public:
  static constexpr std::uint32_t kF32 = 0, kQ4_1 = 3, kQ8_0 = 8, kQ6_K = 14;
  static constexpr std::uint64_t kVocabulary = 259;  ///< 256 bytes, "ab", and two end tokens
  static constexpr std::int32_t kEnd = 257;

  struct Entry {
    std::string key;
    std::uint32_t type = 0;
    Bytes value;
  };
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;
    Bytes data;
  };

  std::vector<Entry> entries;
  std::vector<Tensor> tensors;

  explicit TinyLlama(std::uint32_t context = 1024) {
    add_string("general.architecture", "llama");
    add_u32("llama.block_count", 2);
    add_u32("llama.context_length", context);
    add_u32("llama.embedding_length", 64);
    add_u32("llama.feed_forward_length", 96);
    add_u32("llama.attention.head_count", 4);
    add_u32("llama.attention.head_count_kv", 2);
    add_tokenizer();
    // Three kinds of weights, so that one program has packed ones of 4 and 8 bits and dense ones.
    add("token_embd.weight", {64, kVocabulary}, kQ8_0);
    for (int layer = 0; layer < 2; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      add(block + "attn_norm.weight", {64}, kF32);
      add(block + "attn_q.weight", {64, 64}, kQ4_1);
      add(block + "attn_k.weight", {64, 32}, kQ8_0);
      add(block + "attn_v.weight", {64, 32}, kF32);
      add(block + "attn_output.weight", {64, 64}, kQ4_1);
      add(block + "ffn_norm.weight", {64}, kF32);
      add(block + "ffn_gate.weight", {64, 96}, kQ4_1);
      add(block + "ffn_up.weight", {64, 96}, kQ8_0);
      add(block + "ffn_down.weight", {96, 64}, kF32);
    }
    add("output_norm.weight", {64}, kF32);
  }

  /// A tensor with random values of a size that keeps activations near 1.
  void add(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type) {
    std::uint64_t elements = 1;
    for (const std::uint64_t d : dims) elements *= d;
    tensors.push_back({name, dims, type, data(elements, type, dims.size() == 1)});
  }

  Entry& entry(std::string_view key) { return find(entries, key, &Entry::key); }
  Tensor& tensor(std::string_view name) { return find(tensors, name, &Tensor::name); }
  void erase_entry(std::string_view key) { entries.erase(entries.begin() + (&entry(key) - entries.data())); }
  void erase_tensor(std::string_view name) { tensors.erase(tensors.begin() + (&tensor(name) - tensors.data())); }
  void set_u32(std::string_view key, std::uint32_t value) {
    entry(key).type = 4;
    entry(key).value = bytes_of(std::vector<std::uint32_t>{value});
  }

  void add_u32(const std::string& key, std::uint32_t value) {
    entries.push_back({key, 4, bytes_of(std::vector<std::uint32_t>{value})});
  }
  void add_f32(const std::string& key, float value) {
    entries.push_back({key, 6, bytes_of(std::vector<float>{value})});
  }
  void add_string(const std::string& key, std::string_view value) {
    Bytes bytes;
    append_string(bytes, value);
    entries.push_back({key, 8, bytes});
  }
  void add_strings(const std::string& key, const std::vector<std::string>& values) {
    Bytes bytes;
    append(bytes, std::uint32_t{8});
    append(bytes, std::uint64_t{values.size()});
    for (const std::string& value : values) append_string(bytes, value);
    entries.push_back({key, 9, bytes});
  }

  Bytes build() const {
    GgufBytes out;
    for (const Entry& e : entries) out.add(e.key, e.type, e.value);
    for (const Tensor& t : tensors) out.add_tensor(t.name, t.dims, t.type, t.data);
    return out.build();
  }
  std::string write(const TempFolder& folder, std::string_view name) const { return folder.write(name, build()); }

 private:
  template <typename T>
  static T& find(std::vector<T>& all, std::string_view name, std::string T::*member) {
    for (T& one : all) {
      if (one.*member == name) return one;
    }
    throw std::runtime_error("the tiny model has no " + std::string(name));
  }

  void add_tokenizer() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(byte_to_symbol_text(static_cast<std::uint8_t>(byte)));
    tokens.insert(tokens.end(), {"ab", "<|endoftext|>", "<|im_end|>"});
    std::vector<std::int32_t> types(tokens.size(), 1);
    types[257] = types[258] = 3;
    add_string("tokenizer.ggml.model", "gpt2");
    add_string("tokenizer.ggml.pre", "smollm");
    add_strings("tokenizer.ggml.tokens", tokens);
    Bytes array;
    append(array, std::uint32_t{5});
    append(array, std::uint64_t{types.size()});
    for (const std::int32_t type : types) append(array, type);
    entries.push_back({"tokenizer.ggml.token_type", 9, array});
    add_strings("tokenizer.ggml.merges", {"a b"});
    add_u32("tokenizer.ggml.eos_token_id", kEnd);
    entries.push_back({"tokenizer.ggml.add_bos_token", 7, bytes_of(std::vector<std::uint8_t>{0})});
  }

  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  Bytes data(std::uint64_t elements, std::uint32_t type, bool norm) {
    Bytes out;
    const auto half = [&](float value) { append(out, gguf::half_from_float(value)); };
    const auto codes = [&](int count) {
      for (int i = 0; i < count; ++i) out.push_back(static_cast<std::byte>(random_() & 0xffU));
    };
    if (type == kF32) {
      for (std::uint64_t i = 0; i < elements; ++i) append(out, norm ? uniform(0.5f, 1.5f) : uniform(-0.2f, 0.2f));
    } else {
      for (std::uint64_t i = 0; i < elements / 32; ++i) {
        if (type == kQ4_1) {
          half(uniform(0.01f, 0.03f));
          half(uniform(-0.25f, -0.1f));
          codes(16);
        } else {
          half(uniform(0.0005f, 0.002f));
          codes(32);
        }
      }
    }
    return out;
  }

  std::mt19937 random_{20260831};
};

}  // namespace reprise::testing
