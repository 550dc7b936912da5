// The pool of threads: every index once, whatever the team, and nothing lost when work throws.
#include "backends/native/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace reprise::native {
namespace {

TEST(Threads, EachIndexOnce) {
  for (const int team : {1, 2, 3, 8, 300}) {
    for (const std::int64_t count : {0, 1, 2, 7, 64, 1000, 65537}) {
      for (const std::int64_t grain : {1, 3, 100, 1 << 20}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        parallel_for(team, count, grain, [&](std::int64_t begin, std::int64_t end) {
          ASSERT_LT(begin, end);
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (const auto& n : seen) ASSERT_EQ(n, 1) << team << " " << count << " " << grain;
      }
    }
  }
}

TEST(Threads, Nested) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(4, 64, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      parallel_for(4, 100, 1, [&](std::int64_t b, std::int64_t e) {
        for (std::int64_t j = b; j < e; ++j) sum += j;
      });
    }
  });
  EXPECT_EQ(sum, 64 * 4950);
}

TEST(Threads, ManyCallers) {
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 16; ++c) {
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        const ThreadLease lease(4);
        ASSERT_GE(lease.threads(), 1);
        ASSERT_LE(lease.threads(), 4);
        parallel_for(lease.threads(), 40, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 16 * 200 * 40);
  // All leases are back: one caller alone gets what it wants.
  EXPECT_EQ(ThreadLease(3).threads(), 3);
}

TEST(Threads, WhatAPartThrowsReachesTheCaller) {
  for (int k = 0; k < 100; ++k) {
    std::atomic<int> ran{0};
    try {
      parallel_parts(3, 30, [&](std::int64_t part) {
        ++ran;
        if (part % 7 == 3) throw std::runtime_error("part");
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "part");
    }
    EXPECT_EQ(ran, 30);
  }
}

}  // namespace
}  // namespace reprise::native
