// Each NAME.passes file holds programs before and after the pass NAME, and nothing but that pass and dead_code runs.
// Notation:
//
//   case what it shows
//     inputs f32[2, 3], s32[]
//     cap0 = f32[3] 1
//     <the program's text, without its first line and the number of inputs>
//   ->
//     <the text afterwards, with types>
//
// The captured arrays hold one number each.
#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "io/text/parse.hpp"
#include "io/text/print.hpp"
#include "passes/passes.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

struct Case {
  std::string pass;
  std::string name;
  std::vector<std::string> inputs;
  std::string before;
  std::string after;
};

std::string strip(const std::string& line) {
  const auto begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

// "f32[2, 3], s32[]"
std::vector<std::string> split_types(const std::string& text) {
  std::vector<std::string> out;
  std::string rest = text;
  while (!rest.empty()) {
    const auto end = rest.find(']');
    out.push_back(strip(rest.substr(0, end + 1)));
    rest = strip(rest.substr(std::min(rest.size(), end + 1)));
    if (rest.starts_with(",")) rest = strip(rest.substr(1));
  }
  return out;
}

std::vector<Case> read_cases() {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(REPRISE_PASSES_FOLDER)) {
    if (entry.path().extension() != ".passes") continue;
    std::ifstream file(entry.path());
    std::string* into = nullptr;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("#")) continue;
      if (line.starts_with("case ")) {
        out.push_back({entry.path().stem().string(), line.substr(5), {}, "", ""});
        into = &out.back().before;
      } else if (line == "->") {
        into = &out.back().after;
      } else if (strip(line).starts_with("inputs ") && into == &out.back().before) {
        out.back().inputs = split_types(strip(line).substr(7));
      } else if (!strip(line).empty()) {
        *into += line.starts_with("  ") ? line.substr(2) : line;
        *into += "\n";
      }
    }
  }
  return out;
}

TensorType type_from(const std::string& text) {
  text::Scanner scanner(text);
  return text::parse_type(scanner).value();
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, GivesThisProgram) {
  const Case& one = GetParam();
  std::vector<TensorType> inputs;
  for (const std::string& text : one.inputs) inputs.push_back(type_from(text));
  // A capture's line gets the form of the program, and its array.
  std::vector<Capture> captures;
  std::istringstream lines(one.before);
  std::string program = fmt::format("reprise 1\ninputs {}\n", inputs.size());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("cap")) {
      const auto equals = line.find('='), end = line.find(']');
      const std::string type = strip(line.substr(equals + 1, end - equals));
      const double value = std::stod(line.substr(end + 1));
      const TensorType t = type_from(type);
      captures.push_back(make_capture(mlx::core::full(to_mlx(t.shape), value, to_mlx(t.dtype))).value());
      line = fmt::format("{}= \"\" : {}", line.substr(0, equals), type);
    }
    program += line + "\n";
  }
  const auto parsed = parse_program(program, captures);
  ASSERT_TRUE(parsed) << parsed.error().message() << "\n" << program;
  const auto verified = verify(*parsed);
  ASSERT_TRUE(verified) << verified.error().message();
  const auto typed = infer(std::make_shared<const VerifiedProgram>(*verified), inputs);
  ASSERT_TRUE(typed) << typed.error().message();
  std::vector<std::string> others;
  for (const PassInfo& pass : passes()) {
    if (pass.name != one.pass && pass.name != "dead_code") others.emplace_back(pass.name);
  }
  ASSERT_EQ(others.size(), passes().size() - (one.pass == "dead_code" ? 1 : 2)) << "no pass is called " << one.pass;
  const auto made = pass::optimise(std::make_shared<const TypedProgram>(*typed), others);
  ASSERT_TRUE(made) << made.error().message();
  std::string text = print_program(*made->program);
  text = text.substr(text.find('\n', text.find("inputs ")) + 1);
  EXPECT_EQ(text, one.after);
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, testing::ValuesIn(read_cases()), [](const auto& tested) {
  std::string name = tested.param.pass + "_" + tested.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(GoldenFiles, EachPassHasOne) {
  const std::vector<Case> cases = read_cases();
  for (const PassInfo& pass : passes()) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& c) { return c.pass == pass.name; }))
        << pass.name;
  }
}

}  // namespace
}  // namespace reprise
