// Every .cases file beside the rows, on every backend; one test for each file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "conformance/case_run.hpp"
#include "ops/registry.hpp"

namespace reprise::conformance {
namespace {

struct File {
  std::string family;
  std::string path;
};

void PrintTo(const File& file, std::ostream* out) { *out << file.path; }

std::vector<File> files() {
  std::vector<File> out;
  for (const auto& folder : std::filesystem::directory_iterator(REPRISE_OPS_FOLDER)) {
    const std::string family = folder.path().filename().string();
    const auto path = folder.path() / (family + ".cases");
    if (std::filesystem::exists(path)) out.push_back({family, path.string()});
  }
  std::sort(out.begin(), out.end(), [](const File& a, const File& b) { return a.family < b.family; });
  return out;
}

Result<std::vector<Case>> read(const File& file) {
  std::ifstream in(file.path);
  std::ostringstream text;
  text << in.rdbuf();
  auto cases = parse_cases(text.str());
  if (!cases) return cases.error().with_context(file.path);
  return cases;
}

class Cases : public testing::TestWithParam<File> {};

TEST_P(Cases, Hold) {
  const auto cases = read(GetParam());
  ASSERT_TRUE(cases.ok()) << cases.error().message();
  std::map<std::string, int> counts;
  for (const Case& one : *cases) {
    for (const CompileOptions& target : targets()) {
      SCOPED_TRACE(GetParam().path + ":" + std::to_string(one.line) + " on " + to_string(target.device));
      check_case(one, target);
    }
    std::set<std::string> names;
    for (std::string& op : ops_of(one)) names.insert(std::move(op));
    for (const std::string& op : names) ++counts[op];
  }
  std::printf("%zu cases\n", cases->size());
  for (const auto& [op, count] : counts) std::printf("%4d %s\n", count, op.c_str());
}

INSTANTIATE_TEST_SUITE_P(Family, Cases, testing::ValuesIn(files()), [](const auto& i) { return i.param.family; });

TEST(CaseFiles, EveryOpHasOne) {
  std::map<std::string, int> counts;
  for (const File& file : files()) {
    const auto cases = read(file);
    ASSERT_TRUE(cases.ok()) << cases.error().message();
    for (const Case& one : *cases) {
      if (!one.says.empty()) continue;
      for (const std::string& op : ops_of(one)) ++counts[op];
    }
  }
  for (const ops::OpDef* op : ops::all_defs()) {
    EXPECT_GT(counts[std::string(op->name)], 0) << op->name << " (family " << op->family << ") has no case";
  }
}

// What a case file gets wrong is said with its place, and a wrong answer is not taken for a right one.
TEST(CaseFiles, MistakesAreFound) {
  const auto message = [](std::string_view text) {
    const auto cases = parse_cases(text);
    return cases ? std::string("none") : cases.error().message();
  };
  EXPECT_NE(message("cas abs\n").find("line 1, column 1: seen 'cas'"), std::string::npos);
  EXPECT_NE(message("\ncase abss\n").find("line 2, column 6: seen 'abss'"), std::string::npos);
  EXPECT_NE(message("case abs\n in f32[2] [1]\n out f32[2] 1\n").find("1 elements, but f32[2] takes 2"),
            std::string::npos);
  EXPECT_NE(message("case abs\n in f32[] 1\n").find("needs 'out' lines"), std::string::npos);
  EXPECT_NE(message("case sum {axis = [1]}\n").find("an attribute of sum"), std::string::npos);
}

}  // namespace
}  // namespace reprise::conformance
