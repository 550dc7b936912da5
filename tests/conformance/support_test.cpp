// docs/support/DEVICE.json says what this machine does. With REPRISE_RECORD_SUPPORT=FOLDER it is written there instead,
// with the numbers of cases; ./dev docs does that for the CPU.
#include "conformance/support.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/case_folder.hpp"
#include "conformance/case_run.hpp"
#include "ops/registry.hpp"

namespace reprise::conformance {
namespace {

class SupportMatrix : public OnDevice {};
// What the native backend takes is the same, since it leaves the rest to MLX.
INSTANTIATE_TEST_SUITE_P(Devices, SupportMatrix, testing::Values("cpu", "cuda"),
                         [](const auto& one) { return std::string(one.param); });

// Supported is what the row's dtypes and the inference rule let through; nothing else may fail, and what is refused is
// refused with the dtype in the message.
TEST_P(SupportMatrix, IsAsRecorded) {
  const auto cases = all_cases();
  ASSERT_TRUE(cases.ok()) << cases.error().message();
  Support seen = survey(target(), *cases);
  for (const auto& [op, dtypes] : seen) {
    for (const auto& [d, entry] : dtypes) {
      if (entry.supported) {
        EXPECT_NE(ops::find_def(op)->dtypes & ops::set_of(d), 0) << op << " takes " << name(d) << ", not in its row";
        continue;
      }
      EXPECT_FALSE(entry.broken) << op << " " << name(d) << ": " << entry.refusal;
      const bool named =
          entry.refusal.find(name(d)) != std::string::npos || entry.refusal.find(short_name(d)) != std::string::npos;
      EXPECT_TRUE(named) << op << " does not say that " << name(d) << " is refused: " << entry.refusal;
    }
  }

  const std::string file = std::string(GetParam()) + ".json";
  if (const char* folder = std::getenv("REPRISE_RECORD_SUPPORT")) {
    count_cases(*cases, target(), seen);
    std::ofstream out(std::string(folder) + "/" + file);
    out << to_json(GetParam(), {{"mlx", seen}});
    ASSERT_TRUE(out.flush().good()) << folder << "/" << file << " cannot be written";
    return;
  }
  std::ifstream in(std::string(REPRISE_DOCS_FOLDER) + "/support/" + file);
  if (!in && target().device != Device::cpu()) GTEST_SKIP() << "docs/support/" << file << " is not recorded yet";
  const auto recorded = nlohmann::json::parse(in, nullptr, false);
  ASSERT_TRUE(recorded.is_object()) << "docs/support/" << file << " cannot be read; ./dev docs writes it";
  for (const auto& [op, dtypes] : seen) {
    for (const auto& [d, entry] : dtypes) {
      const nlohmann::json::json_pointer at("/backends/mlx/" + op + "/" + std::string(name(d)));
      ASSERT_TRUE(recorded.contains(at)) << "docs/support/" << file << " lacks " << op << "; ./dev docs writes it";
      const auto& cell = recorded.at(at);
      EXPECT_TRUE(cell.value("supported", false) == entry.supported && cell.value("result", "") == entry.result)
          << "docs/support/" << file << " is stale for " << op << " " << name(d) << ": " << cell << "; seen "
          << (entry.supported ? "supported, giving " + entry.result : entry.refusal) << "; ./dev docs writes it";
    }
  }
}

}  // namespace
}  // namespace reprise::conformance
