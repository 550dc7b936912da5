// Programs to programs, instruction by instruction, loops included.
#pragma once

#include "fuzz/fuzz_case.hpp"
#include "fuzz/generator.hpp"

namespace reprise::fuzz {

class Rewriter {
 public:
  virtual ~Rewriter() = default;
  FuzzCase rewrite(const FuzzCase& one);

 protected:
  static constexpr std::size_t kInLoop = SIZE_MAX;

  /// An instruction of the program with its operands already replaced.
  struct Item {
    const ops::OpDef& op;
    Instruction instruction;
    std::vector<Operand> operands;
    std::vector<TensorType> results;
    std::size_t first_result = kInLoop;  ///< at the top level: the number of its first result in the old program
  };
  /// Writes what stands for the instruction; gives what stands for its results.
  virtual std::vector<Operand> replace(const Item& item) = 0;

  std::vector<Operand> copy(const Item& item);
  /// One more instruction; throws when the op's rule refuses it.
  Operand add(std::string_view op, const std::vector<Operand>& operands,
              const std::vector<std::pair<std::string, ops::Value>>& attrs = {});
  Operand capture_of(const ArraySpec& spec);
  const FuzzCase& original() const { return *original_; }

 private:
  struct List {
    std::vector<Instruction> instructions;
    std::int64_t results = 0;
  };
  SubProgram walk(const std::vector<Instruction>& instructions, const std::vector<Ref>& outputs,
                  const TypedProgram& typed, const VerifiedList& verified, const TypedList& types);

  const FuzzCase* original_ = nullptr;
  FuzzCase out_;
  List* list_ = nullptr;
};

}  // namespace reprise::fuzz
