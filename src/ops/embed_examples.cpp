// A build tool: reads .cases files and writes C++ with the first case of each op that gives a result. An op that has
// none takes the first program that uses it.
//
//   embed_examples OUTPUT FILE.cases...
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Block {
  std::string head;  // "case sum {axes = [1]}" or "program", without its comment
  std::string lines;
  bool gives_result = false;
};

std::string without_comment(std::string line) {
  if (const auto at = line.find("  #"); at != std::string::npos) line.resize(at);
  return line;
}

std::vector<Block> blocks_of(std::istream& in) {
  std::vector<Block> out;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("case ", 0) == 0 || line.rfind("program", 0) == 0) {
      out.push_back({without_comment(line), "", false});
    } else if (!out.empty() && !line.empty() && line[0] == ' ') {
      out.back().lines += without_comment(line) + "\n";
      out.back().gives_result = out.back().gives_result || line.rfind("  out", 0) == 0;
    }
  }
  return out;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" {")); }

// The lines of a program stand behind "  | "; its instructions are "%0 = op ...".
void add_program(const Block& block, std::map<std::string, std::string>& examples) {
  std::string text;
  std::vector<std::string> ops;
  std::istringstream lines(block.lines);
  for (std::string line; std::getline(lines, line);) {
    const bool program = line.rfind("  | ", 0) == 0;
    text += (program ? line.substr(4) : line) + "\n";
    if (const auto at = line.find(" = "); program && line.find('%') < at)
      ops.push_back(first_word(line.substr(at + 3)));
  }
  for (const std::string& op : ops) examples.emplace(op, text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: embed_examples OUTPUT FILE.cases...\n";
    return 2;
  }
  std::map<std::string, std::string> examples;
  std::vector<Block> programs;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i]);
    for (Block& block : blocks_of(in)) {
      if (!block.gives_result) continue;
      if (block.head == "program") {
        programs.push_back(std::move(block));
      } else {
        const std::string instruction = block.head.substr(5);
        examples.emplace(first_word(instruction), instruction + "\n" + block.lines);
      }
    }
    if (!in.eof()) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 1;
    }
  }
  for (const Block& block : programs) add_program(block, examples);

  std::ofstream out(argv[1]);
  out << "// Made by embed_examples.\n#include \"ops/examples.hpp\"\n\nnamespace reprise::ops {\nnamespace {\n\n"
         "constexpr Example kExamples[] = {\n";
  for (const auto& [op, text] : examples) out << "    {\"" << op << "\", R\"--(" << text << ")--\"},\n";
  out << "};\n\n}  // namespace\n\nstd::string_view example_of(std::string_view op) {\n"
         "  for (const Example& example : kExamples) {\n    if (example.op == op) return example.text;\n  }\n"
         "  return {};\n}\n\n}  // namespace reprise::ops\n";
  out.flush();
  return out ? 0 : 1;
}
