// Runs one instruction through the whole library: verified, inferred, recorded, replayed.
#pragma once

#include <gtest/gtest.h>
#include <mlx/primitives.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mlx/lowering.hpp"
#include "movement/movement.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise {

inline Result<std::vector<mlx::core::array>> run_op(std::string_view name, const Builder::Attrs& attrs,
                                                    std::vector<mlx::core::array> operands) {
  Builder b;
  Builder::Values inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) inputs.push_back(b.input());
  REPRISE_ASSIGN(const Program program, b.build(b.ops(name, inputs, attrs)));
  REPRISE_ASSIGN(const Executable executable, compile(program));
  return executable.run(std::move(operands));
}

/// The only result.
inline mlx::core::array run_one(std::string_view name, const Builder::Attrs& attrs,
                                std::vector<mlx::core::array> operands) {
  return run_op(name, attrs, std::move(operands)).value().at(0);
}

/// The text of the error; fails the test when there is none.
inline std::string error_of(std::string_view name, const Builder::Attrs& attrs,
                            std::vector<mlx::core::array> operands) {
  const auto out = run_op(name, attrs, std::move(operands));
  EXPECT_FALSE(out.ok()) << name;
  return out.ok() ? "" : out.error().message();
}

/// Every operation that the lowering records runs on the stream it was given, and none reads the operands.
inline void expect_own_stream(std::string_view name, const void* attrs, const std::vector<TensorType>& operands) {
  namespace mx = mlx::core;
  static const mx::Stream stream = mx::new_stream(mx::Device::cpu);
  const ops::OpDef& op = *ops::find_def(name);
  const ops::Types results = op.infer(ops::InferContext{op, operands}, attrs).value();
  std::vector<mx::array> placeholders;
  for (const TensorType& t : operands) {
    placeholders.emplace_back(to_mlx(t.shape), to_mlx(t.dtype), nullptr, std::vector<mx::array>{});
  }
  std::vector<mlx_backend::Check> checks;
  std::vector<mx::array> all = mlx_backend::lowering_of(op).lower({op, placeholders, results, stream, &checks}, attrs);
  ASSERT_EQ(all.size(), results.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(to_string(type_of(all[i])), to_string(results[i])) << name << " result " << i;
  }
  for (const auto& check : checks) {
    EXPECT_EQ(check.failed.size(), 1u);
    EXPECT_EQ(check.failed.dtype(), mx::bool_);
    all.push_back(check.failed);
  }
  std::set<std::uintptr_t> seen;
  while (!all.empty()) {
    const mx::array x = all.back();
    all.pop_back();
    if (!x.has_primitive() || !seen.insert(x.id()).second) continue;
    EXPECT_EQ(x.primitive().stream().index, stream.index) << x.primitive().name() << " of " << name;
    all.insert(all.end(), x.inputs().begin(), x.inputs().end());
  }
}

}  // namespace reprise
