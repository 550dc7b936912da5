#include <gtest/gtest.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace reprise {
namespace {

TEST(Printable, KeepsMessagesToOneShortLine) {
  EXPECT_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(printable(std::string_view("a\n\0\x7f", 4)), "a\\x0a\\x00\\x7f");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xc3\xa9", 3), "ab...");  // a character is shown whole or not at all
  EXPECT_EQ(printable("", 3), "");
}

TEST(Suggest, FindsTheNearestName) {
  const std::string_view known[] = {"sum", "product", "reduce_max", "reduce_min"};
  EXPECT_EQ(suggest("sumn", known), "; did you mean 'sum'?");
  EXPECT_EQ(suggest("reduce_mx", known), "; did you mean 'reduce_max'?");
  EXPECT_EQ(suggest("prodcut", known), "; did you mean 'product'?");
  EXPECT_EQ(suggest("convolution", known), "");
  EXPECT_EQ(suggest("", known), "");
  EXPECT_EQ(suggest(std::string(1000, 's'), known), "");
}

}  // namespace
}  // namespace reprise
