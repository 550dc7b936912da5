// Replays of a plan.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "backends/native/plan.hpp"
#include "backends/native/pool.hpp"

namespace reprise::native {

/// Calls RunOptions::while_waiting about ten times a second.
class Ticker {
 public:
  explicit Ticker(const RunOptions& options) : options_(options) {
    if (options.while_waiting) last_ = std::chrono::steady_clock::now();
  }

  void tick() {
    if (options_.while_waiting) look();
  }

 private:
  void look();

  const RunOptions& options_;
  std::chrono::steady_clock::time_point last_;
};

/// A plan, and the working memory that its replays borrow. Thread-safe.
class Replayer {
 public:
  explicit Replayer(std::unique_ptr<const Plan> plan);

  /// Inputs have the plan's types; those that nobody else holds may be taken over. May throw what MLX throws.
  Result<std::vector<mlx::core::array>> run(std::vector<mlx::core::array> inputs, const RunOptions& options,
                                            int threads) const;

  const Plan& plan() const { return *plan_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  /// What one replay needs besides arrays: its arena and the tables that a Frame shows.
  struct Workspace {
    std::unique_ptr<std::byte, Free> arena;
    std::vector<std::byte*> addresses;
    std::vector<std::optional<mlx::core::array>> arrays;
  };

  Result<std::unique_ptr<Workspace>> make_workspace() const;
  Result<std::vector<mlx::core::array>> replay(const Frame& frame, std::vector<mlx::core::array> inputs) const;
  void let_go(Workspace& workspace) const;

  std::unique_ptr<const Plan> plan_;
  std::vector<SlotId> inputs_, temporary_;
  mutable Pool<Workspace> pool_;
};

}  // namespace reprise::native
