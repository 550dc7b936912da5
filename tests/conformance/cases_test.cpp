// Every .cases file beside the rows, on every backend; one test for each file.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "conformance/case_folder.hpp"
#include "conformance/case_run.hpp"
#include "ops/registry.hpp"

namespace reprise::conformance {
namespace {

// The cases of one op, or a family's programs, on one device. Registered by hand, since the names are known at run time
// only: ctest lists Cases/cpu.sum, Cases/cuda.sum and, for the programs of reduce.cases, Cases/cpu.programs_in_reduce.
class Cases : public OnDevice {
 public:
  Cases(CaseFile file, std::string op, const char* device)
      : file_(std::move(file)), op_(std::move(op)), device_(device) {}

  void SetUp() override { use(device_); }

  void TestBody() override {
    const auto cases = read_cases(file_);
    ASSERT_TRUE(cases.ok()) << cases.error().message();
    int count = 0;
    for (const Case& one : *cases) {
      if (one.op != op_) continue;
      SCOPED_TRACE(file_.path + ":" + std::to_string(one.line) + " on " + to_string(target().device));
      check_case(one, target());
      ++count;
    }
    std::printf("%d cases\n", count);
  }

 private:
  CaseFile file_;
  std::string op_;  // empty: programs
  const char* device_;
};

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* device, const std::string& name, const CaseFile& file, const std::string& op) {
    testing::RegisterTest(("Cases/" + std::string(device)).c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [file, op, device]() -> OnDevice* { return new Cases(file, op, device); });
  };
  for (const char* device : kDevices) {
    for (const CaseFile& file : case_files()) {
      std::set<std::string> ops;
      // A file that cannot be read has the test that says so.
      if (const auto cases = read_cases(file)) {
        for (const Case& one : *cases) ops.insert(one.op);
      } else {
        ops.insert("");
      }
      for (const std::string& op : ops) add(device, op.empty() ? "programs_in_" + file.family : op, file, op);
    }
  }
  return true;
}();

TEST(CaseFiles, EveryOpHasOne) {
  std::map<std::string, int> counts;
  for (const CaseFile& file : case_files()) {
    const auto cases = read_cases(file);
    ASSERT_TRUE(cases.ok()) << cases.error().message();
    for (const Case& one : *cases) {
      if (!one.says.empty()) continue;
      for (const std::string& op : ops_of(one)) ++counts[op];
    }
  }
  for (const ops::OpDef* op : ops::all_defs()) {
    std::printf("%4d %s\n", counts[std::string(op->name)], std::string(op->name).c_str());
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
  EXPECT_NE(message("case abs\n near 1\n in f32[] 1\n out f32[] 1\n").find("'near' is for programs"),
            std::string::npos);
  EXPECT_NE(message("case sum {axis = [1]}\n").find("an attribute of sum"), std::string::npos);
}

}  // namespace
}  // namespace reprise::conformance
