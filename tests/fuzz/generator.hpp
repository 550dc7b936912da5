// Makes valid programs at random, from the op table.
//
//   Tally tally;
//   FuzzCase one = generate({.seed = 1, .index = 42}, tally);
//
// The generator keeps a pool of values whose types it knows. It picks an op, lets the op's maker (makers.cpp) choose
// operands from the pool, or make new inputs, captures and constants, and attributes that suit them, and asks the op's
// own inference rule. What the rule refuses is dropped and counted: a generator that loses an op shows in the tally.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "fuzz/fuzz_case.hpp"
#include "fuzz/random.hpp"
#include "ops/registry.hpp"

namespace reprise::fuzz {

struct GenerateOptions {
  std::uint64_t seed = 1;
  std::uint64_t index = 0;  ///< which program of the seed
  int max_instructions = 14;
  bool float64 = true;        ///< only the CPU has it
  bool linalg_errors = true;  ///< matrices that cholesky and solve refuse, too
};

/// Counts by op, in the order of the table. Plain numbers, so that it may lie in memory shared by processes.
struct Tally {
  static constexpr std::size_t kMaxOps = 256;
  std::array<std::uint64_t, kMaxOps> tried{};     ///< given to the inference rule
  std::array<std::uint64_t, kMaxOps> accepted{};  ///< became an instruction
  std::array<std::uint64_t, kMaxOps>
      too_large{};                     ///< accepted by the rule, but larger than a fuzzer's values should be
  std::uint64_t refused_programs = 0;  ///< programs that verification or inference refused as a whole

  void add(const Tally& other);
};

std::size_t op_index(const ops::OpDef& op);

FuzzCase generate(const GenerateOptions& options, Tally& tally);

/// A value that instructions may name.
struct Operand {
  Ref ref;
  TensorType type;
};

/// What an op's maker hands back: an instruction to be tried.
struct Draft {
  std::vector<Operand> operands;
  std::vector<std::pair<std::string, ops::Value>> attrs;
};

/// What a maker asks for.
struct Want {
  ops::DTypeSet dtypes = ops::kAllDTypes;
  int min_rank = 0;
  int max_rank = 4;
  std::function<bool(const TensorType&)> also;  ///< null: nothing more
};

class Generator {
 public:
  Generator(const GenerateOptions& options, Tally& tally);

  FuzzCase run();

  // For makers.

  Random& random() { return random_; }
  const GenerateOptions& options() const { return options_; }
  bool wild() const { return wild_; }

  /// A value of the pool, or a new one.
  Operand any(const Want& want);
  /// A value of exactly this type: of the pool, made from one of the pool, or new.
  Operand like(const TensorType& type, const Values& values = {});
  /// A new input, capture or constant.
  Operand fresh(const TensorType& type, const Values& values = {});

  DType dtype(ops::DTypeSet set);
  std::int64_t dim();
  Shape shape(int min_rank, int max_rank);
  /// Not larger than this program's values should be.
  bool fits(const Shape& shape) const;
  /// A shape that broadcasts to `shape`, or to a larger one with it.
  Shape broadcasting(const Shape& shape);
  /// Some axes of `rank`, in random order, some counted from the end.
  ops::Ints axes(int rank, const std::function<bool(std::size_t)>& allowed = {});
  std::int64_t axis(int rank);

  /// Appends an instruction if the op's rule accepts it.
  std::optional<std::vector<Operand>> emit(const ops::OpDef& op, const Draft& draft);
  std::optional<Operand> emit(std::string_view op, std::vector<Operand> operands,
                              std::vector<std::pair<std::string, ops::Value>> attrs = {});
  /// Appends a `while` of its own making.
  bool add_loop();

 private:
  struct Scope {
    std::vector<Instruction> list;
    std::vector<Operand> pool;
    std::int64_t results = 0;
    int depth = 0;
  };

  void step();
  void choose_outputs();
  std::vector<Operand> append(Instruction instruction, const std::vector<TensorType>& types);
  Operand constant(const TensorType& scalar, const Values& values);
  Operand as_type(const TensorType& type);
  Operand slot_value(const TensorType& type, std::size_t slot);

  GenerateOptions options_;
  Tally& tally_;
  Random random_;
  bool wild_ = false;
  std::int64_t max_elements_ = 0;
  std::vector<std::int64_t> dims_;  // sizes that this program likes
  std::vector<DType> dtypes_;       // dtypes that this program likes
  ops::DTypeSet allowed_ = 0;
  FuzzCase made_;
  Scope* scope_ = nullptr;
};

/// An instruction of `op`, or nothing when the pool and the op do not suit each other.
std::optional<Draft> make(const ops::OpDef& op, Generator& generator);

}  // namespace reprise::fuzz
