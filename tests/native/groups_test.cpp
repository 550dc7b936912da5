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

}  // namespace
}  // namespace reprise
