// Encodes strings for tests/python/test_tokenizer.py, which compares the ids with those of another tokenizer.
//
//   tokenize_tool vocabulary.bin < requests > answers
//
// Numbers are little-endian 32-bit, strings a length and bytes. The vocabulary: pre-tokenizer, the number of tokens,
// each token's type and text, the number of merges, each merge, the chat template. A request: a mode and a string. An
// answer is a line: the ids, a bar, and the decoded bytes in hexadecimal with control tokens printed.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizer/chat_template.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace {

using reprise::Result;

enum class Mode : std::uint32_t { plain, parse_special, user_message };

std::optional<std::uint32_t> read_number(std::istream& in) {
  unsigned char bytes[4];
  if (!in.read(reinterpret_cast<char*>(bytes), 4)) return std::nullopt;
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

std::string read_string(std::istream& in) {
  std::string text(read_number(in).value_or(0), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

reprise::TokenizerSpec read_vocabulary(std::istream& in) {
  reprise::TokenizerSpec spec;
  spec.pre_tokenizer = read_string(in);
  spec.tokens.resize(read_number(in).value_or(0));
  spec.types.resize(spec.tokens.size());
  for (std::size_t i = 0; i < spec.tokens.size(); ++i) {
    spec.types[i] = static_cast<reprise::TokenType>(read_number(in).value_or(0));
    spec.tokens[i] = read_string(in);
  }
  spec.merges.resize(read_number(in).value_or(0));
  for (std::string& merge : spec.merges) merge = read_string(in);
  spec.chat_template = read_string(in);
  return spec;
}

Result<std::vector<std::int32_t>> answer(const reprise::Tokenizer& tokenizer, Mode mode, const std::string& text) {
  if (mode != Mode::user_message) return tokenizer.encode(text, {.parse_special = mode == Mode::parse_special});
  REPRISE_ASSIGN(const auto chat, reprise::ChatTemplate::make(tokenizer.chat_template()));
  const std::vector<reprise::ChatMessage> messages = {{reprise::ChatRole::user, text}};
  REPRISE_ASSIGN(const auto segments, chat.render(messages));
  return tokenizer.encode(segments);
}

int run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const reprise::Tokenizer tokenizer = reprise::Tokenizer::make(read_vocabulary(file)).value();
  while (const auto mode = read_number(std::cin)) {
    const std::string text = read_string(std::cin);
    const auto ids = answer(tokenizer, static_cast<Mode>(*mode), text).value();
    std::string line;
    for (const std::int32_t id : ids) line += std::to_string(id) + " ";
    line += "|";
    for (const char c : tokenizer.decode(ids, {.print_special = true}).value()) {
      constexpr char kDigits[] = "0123456789abcdef";
      line += {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    }
    std::cout << line << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tokenize_tool vocabulary.bin < requests\n";
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& e) {
    std::cerr << "tokenize_tool: " << e.what() << '\n';
    return 1;
  }
}
