// A vocabulary for tests: ids 0 to 255 are the bytes, then a few merges, then special tokens.
#pragma once

#include <string>
#include <vector>

#include "models/tokenizer/byte_alphabet.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace reprise::test {

constexpr std::int32_t kAb = 256;           // "ab"
constexpr std::int32_t kAbc = 257;          // "abc"
constexpr std::int32_t kAa = 258;           // "aa"
constexpr std::int32_t kSpaces = 259;       // two spaces
constexpr std::int32_t kBos = 260;          // <s>
constexpr std::int32_t kEos = 261;          // </s>
constexpr std::int32_t kStart = 262;        // <|im_start|>
constexpr std::int32_t kEnd = 263;          // <|im_end|>
constexpr std::int32_t kEndLong = 264;      // <|im_end|>>
constexpr std::int32_t kUserDefined = 265;  // [tool]
constexpr std::int32_t kUnused = 266;       // [pad0]

inline TokenizerSpec small_spec() {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(byte_to_symbol_text(static_cast<std::uint8_t>(byte)));
  const std::string space = byte_to_symbol_text(' ');
  for (const std::string& token : {std::string("ab"), std::string("abc"), std::string("aa"), space + space}) {
    spec.tokens.push_back(token);
  }
  spec.types.assign(spec.tokens.size(), TokenType::normal);
  for (const char* token : {"<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|im_end|>>"}) {
    spec.tokens.emplace_back(token);
    spec.types.push_back(TokenType::control);
  }
  spec.tokens.emplace_back("[tool]");
  spec.types.push_back(TokenType::user_defined);
  spec.tokens.emplace_back("[pad0]");
  spec.types.push_back(TokenType::unused);
  spec.merges = {"a b", "ab c", "a a", space + " " + space};
  spec.pre_tokenizer = "smollm";
  spec.bos = kBos;
  spec.eos = kEos;
  spec.eot = kEnd;
  return spec;
}

inline Tokenizer small_tokenizer() { return Tokenizer::make(small_spec()).value(); }

}  // namespace reprise::test
