#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <filesystem>
#include <fstream>

#include "gguf/temp_folder.hpp"
#include "io/safetensors/safetensors.hpp"
#include "random_program.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

void write_text(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

Program with_captures(std::vector<std::string> names) {
  ProgramData data;
  float value = 1;
  for (auto& name : names) {
    data.captures.push_back(make_capture(mx::full({2}, value++), std::move(name)).value());
    data.outputs.push_back(capture(static_cast<std::int64_t>(data.captures.size()) - 1));
  }
  data.num_real_outputs = static_cast<int>(data.outputs.size());
  return Program(std::move(data));
}

TEST(ProgramFile, RoundTripsWithCaptures) {
  testing::TempFolder folder;
  // Shared, empty, forbidden, made-up and non-text names: each comes back as it was.
  const Program program = with_captures({"w", "", "w", "cap1", "__metadata__", "\xff", "cap5", "", "cap5_"});
  ASSERT_TRUE(write_program(folder / "p.rp", program).ok());
  const auto back = read_program(folder / "p.rp");
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(*back == program);
  const auto file = read_safetensors(folder / "p.safetensors");
  ASSERT_TRUE(file);
  std::vector<std::string> keys;
  for (const auto& [key, array] : *file) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"w", "cap1_", "cap2", "cap1", "cap4", "cap5__", "cap5", "cap7", "cap5_"}));
}

TEST(ProgramFile, NeedsNoSafetensorsWithoutCaptures) {
  testing::TempFolder folder;
  const Program program = parse_program("reprise 1\ninputs 1\nreturn in0\n").value();
  ASSERT_TRUE(write_program(folder / "p.rp", program).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "p.safetensors"));
  EXPECT_TRUE(read_program(folder / "p.rp").value() == program);
}

TEST(ProgramFile, RandomProgramsRoundTrip) {
  testing::TempFolder folder;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram random(seed);
    const Program program(random.next());
    ASSERT_TRUE(write_program(folder / "p.rp", program).ok());
    const auto back = read_program(folder / "p.rp");
    ASSERT_TRUE(back) << back.error().message();
    ASSERT_TRUE(*back == program) << print_program(program);
  }
}

TEST(ProgramFile, ViewsAreWrittenDense) {
  testing::TempFolder folder;
  ProgramData data;
  const auto base = mx::reshape(mx::arange(12, mx::float32), {3, 4});
  data.captures = {make_capture(mx::transpose(base), "t").value(),
                   make_capture(mx::broadcast_to(mx::array(2.0F), {3, 2}), "b").value(),
                   make_capture(mx::slice(base, {1, 1}, {3, 3}), "s").value()};
  const Program program(std::move(data));
  ASSERT_TRUE(write_program(folder / "p.rp", program).ok());
  EXPECT_TRUE(read_program(folder / "p.rp").value() == program);
}

TEST(ProgramFile, ErrorsNameFileAndFault) {
  testing::TempFolder folder;
  const auto message = [&](const std::string& name) {
    const auto program = read_program(folder / name);
    if (program) return std::string("ok");
    std::string text = program.error().message();
    for (std::size_t at; (at = text.find(folder.path().string())) != std::string::npos;) {
      text.replace(at, folder.path().string().size() + 1, "");
    }
    return text;
  };
  EXPECT_EQ(message("missing.rp"), "missing.rp: cannot open: No such file or directory");
  EXPECT_EQ(message("p.txt"), "p.txt: wanted the name of a program file, NAME.rp");
  std::filesystem::create_directory(folder / "folder.rp");
  EXPECT_EQ(message("folder.rp"), "folder.rp: not a regular file");
  write_text(folder / "bad.rp", "reprise 1\ninputs 1\n%0 = abs x\n");
  EXPECT_EQ(message("bad.rp"),
            "bad.rp: line 3, column 10: seen 'x', wanted an operand: in0, cap0, const0, carry0 or %0");
  write_text(folder / "w.rp", "reprise 1\ninputs 0\ncap0 = \"w\" : f32[2]\nreturn cap0\n");
  EXPECT_EQ(message("w.rp"), "captures of w.rp: w.safetensors: cannot open: No such file or directory");
  const SafetensorsTensors other = {{"v", mx::array({1.0F, 2.0F})}};
  ASSERT_TRUE(write_safetensors(folder / "w.safetensors", other).ok());
  EXPECT_EQ(message("w.rp"), "w.safetensors: no tensor \"w\"; wanted f32[2] for cap0 of w.rp");
  const SafetensorsTensors wrong = {{"w", mx::array({1.0F, 2.0F, 3.0F})}};
  ASSERT_TRUE(write_safetensors(folder / "w.safetensors", wrong).ok());
  EXPECT_EQ(message("w.rp"), "w.safetensors: cap0 \"w\": the array is f32[3]; wanted f32[2]");
}

TEST(ProgramFile, AFailedWriteLeavesTheOldFiles) {
  testing::TempFolder folder;
  const Program old = with_captures({"w"});
  ASSERT_TRUE(write_program(folder / "p.rp", old).ok());
  ASSERT_TRUE(std::filesystem::create_directory(folder / "q.safetensors"));
  EXPECT_FALSE(write_program(folder / "q.rp", old).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "q.rp"));
  EXPECT_FALSE(write_program(folder / "nowhere/p.rp", old).ok());
  EXPECT_TRUE(read_program(folder / "p.rp").value() == old);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    (void)entry;
    ++files;
  }
  EXPECT_EQ(files, 3);  // no temporary file is left
}

}  // namespace
}  // namespace reprise
