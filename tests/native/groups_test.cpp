// Which instructions are planned together.
#include <fmt/format.h>

#include <string>

#include "runtime/support.hpp"

namespace reprise {
namespace {

// Two long chains, of which one reads the other, and a sum of both: whatever is grouped, no group may wait for itself.
TEST(NativeGroups, LongChainsThatMeet) {
  for (const int left : {1, 30, 59, 60, 61, 62, 63, 64, 65, 130}) {
    for (const int right : {1, 3, 10, 63, 64}) {
      for (const bool swapped : {false, true}) {
        std::string text = "inputs 2\n";
        int n = 0;
        const auto line = [&](const std::string& op) {
          text += fmt::format("%{} = {}\n", n, op);
          return fmt::format("%{}", n++);
        };
        const auto chain = [&](std::string x, int length) {
          for (int i = 0; i < length; ++i) x = line(fmt::format("negate {}", x));
          return x;
        };
        const std::string a = chain("in0", left);
        const std::string b = line(fmt::format("add {}, {}", chain("in1", right), a));
        const std::string c = line(swapped ? fmt::format("add {}, {}", b, a) : fmt::format("add {}, {}", a, b));
        const std::string d = chain(c, right);
        text += fmt::format("return {}, {}\n", d, b);
        const Arrays inputs{floats({1, 2, 3}), floats({10, 20, 30})};
        const Arrays native = run(compiled(text, {.backend = Backend::native, .disabled_passes = {"all"}}), inputs);
        const Arrays mlx = run(compiled(text, {.backend = Backend::mlx}), inputs);
        EXPECT_EQ(values(native[0]), values(mlx[0])) << left << " and " << right;
        EXPECT_EQ(values(native[1]), values(mlx[1])) << left << " and " << right;
      }
    }
  }
}

// A cast that moves no bits, as the last of a group, may be what goes over a donated input: it must not be written
// before the others have read that input, and it must be written at all.
TEST(NativeGroups, CastsOverDonatedInputs) {
  for (const char* body : {
           "%0 = astype in0 {dtype = int32}\nreturn %0\n",
           "%0 = astype in0 {dtype = uint32}\nreturn %0\n",
           "%0 = add in0, in0\n%1 = astype in0 {dtype = int32}\nreturn %0, %1\n",
           "%0 = astype in0 {dtype = int32}\n%1 = add in0, %0\nreturn %0, %1\n",
           "%0 = add in0, in0\n%1 = multiply in0, in0\n%2 = astype %0 {dtype = int32}\nreturn %0, %1, %2\n",
       }) {
    const std::string text = fmt::format("inputs 1\n{}", body);
    const auto given = [] { return Arrays{mlx::core::array({3, -1, 7, 1000000})}; };
    const Arrays native = run(compiled(text, {.backend = Backend::native, .disabled_passes = {"all"}}), given());
    const Arrays mlx = run(compiled(text, {.backend = Backend::mlx}), given());
    ASSERT_EQ(native.size(), mlx.size());
    for (std::size_t i = 0; i < native.size(); ++i) EXPECT_EQ(values(native[i]), values(mlx[i])) << body;
  }
}

}  // namespace
}  // namespace reprise
