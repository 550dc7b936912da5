// VerifiedProgram + input types -> TypedProgram: every value gets its shape and dtype from the rows' rules.
//
//   Result<TypedProgram> typed = infer(verified, input_types);
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "program/verify.hpp"

namespace reprise {

/// The types of one instruction list, beside the VerifiedList of the same place.
struct TypedList {
  std::vector<TensorType> carries;                  ///< of the loop slots that the list sees
  std::vector<TensorType> results;                  ///< by result index
  std::vector<std::vector<TypedList>> subprograms;  ///< by instruction; empty for ops without any
};

class TypedProgram {
 public:
  const VerifiedProgram& verified() const { return *verified_; }
  const Program& program() const { return verified_->program(); }
  const std::vector<TensorType>& inputs() const { return inputs_; }
  const TypedList& types() const { return types_; }

  /// Type of a reference of the top level, or of `list` when given.
  TensorType type_of(const Ref& ref) const { return type_of(ref, types_); }
  TensorType type_of(const Ref& ref, const TypedList& list) const;

 private:
  friend Result<TypedProgram> infer(std::shared_ptr<const VerifiedProgram>, std::span<const TensorType>, std::int64_t);
  TypedProgram(std::shared_ptr<const VerifiedProgram> verified, std::vector<TensorType> inputs, TypedList types)
      : verified_(std::move(verified)), inputs_(std::move(inputs)), types_(std::move(types)) {}

  std::shared_ptr<const VerifiedProgram> verified_;
  std::vector<TensorType> inputs_;
  TypedList types_;
};

/// Types every value. A value larger than `max_bytes` is refused with the size that it would have; 0 sets no limit but
/// what a 64-bit size can count. Errors name instruction, operand, seen and wanted.
Result<TypedProgram> infer(std::shared_ptr<const VerifiedProgram> verified, std::span<const TensorType> inputs,
                           std::int64_t max_bytes = 0);

}  // namespace reprise
