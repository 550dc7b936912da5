#include "reprise/status.hpp"

#include <gtest/gtest.h>

namespace reprise {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error(ErrorCode::invalid_argument, "odd");
  return x / 2;
}

Result<int> quarter(int x) {
  REPRISE_ASSIGN(const int h, half(x));
  return half(h);
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_EQ(quarter(6).error().with_context("quarter").message(), "quarter: odd");
}

TEST(Result, ValueThrowsTheError) {
  try {
    half(3).value();
    FAIL() << "no exception";
  } catch (const ErrorException& e) {
    EXPECT_EQ(e.error().code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(e.what(), "odd");
  }
}

TEST(Status, IsGoodUnlessMadeFromAnError) {
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status(Error(ErrorCode::io, "disk full")).ok());
}

}  // namespace
}  // namespace reprise
