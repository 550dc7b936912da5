// Program -> VerifiedProgram: names become rows, positional attributes become structs, every reference is in bounds.
//
//   Result<VerifiedProgram> verified = verify(program);
//
// Only verify() makes a VerifiedProgram, so whoever holds one need not check again. No shapes are needed yet.
#pragma once

#include <span>
#include <vector>

#include "ops/op_def.hpp"
#include "reprise/program.hpp"

namespace reprise {

/// Loops may nest this deep; deeper programs are refused so that recursion over them is bounded.
inline constexpr int kMaxNesting = 64;

struct VerifiedList;

struct VerifiedInstruction {
  const ops::OpDef* op = nullptr;
  std::vector<Ref> operands;
  ops::AttrBox attrs;
  std::vector<VerifiedList> subprograms;
  std::size_t first_result = 0;  ///< its results are first_result .. first_result + result_count of the list
  std::size_t result_count = 1;
  std::size_t number = 0;  ///< what messages call it: its place in the list of the program that the user wrote
};

struct VerifiedList {
  std::vector<VerifiedInstruction> instructions;
  std::vector<Ref> outputs;
  std::size_t result_count = 0;
};

/// Numbers that messages give to instructions instead of their places in the list, where passes or an extract of a
/// program have moved them.
struct Numbering {
  std::vector<std::size_t> numbers;                 ///< by instruction
  std::vector<std::vector<Numbering>> subprograms;  ///< by instruction; empty for ops without any
};
/// The numbers that the instructions of a list have.
Numbering numbering_of(const VerifiedList& list);

class VerifiedProgram {
 public:
  const Program& program() const { return program_; }
  const VerifiedList& list() const { return list_; }
  bool calls_host() const { return calls_host_; }
  /// The outputs that have to be computed: the tail only keeps host calls alive; without any it changes nothing.
  std::span<const Ref> live_outputs() const {
    const std::span<const Ref> all = list_.outputs;
    return calls_host_ ? all : all.first(static_cast<std::size_t>(program_->num_real_outputs));
  }

 private:
  friend Result<VerifiedProgram> verify(const Program& program, std::vector<Error>* faults, const Numbering* numbering);
  VerifiedProgram(Program program, VerifiedList list, bool calls_host)
      : program_(std::move(program)), list_(std::move(list)), calls_host_(calls_host) {}

  Program program_;
  VerifiedList list_;
  bool calls_host_ = false;
};

/// Checks everything that can be checked without shapes. All faults of the program are found in one go: the returned
/// error joins them, and `faults`, if given, gets them one by one. `numbering`, if given, has the program's shape.
Result<VerifiedProgram> verify(const Program& program, std::vector<Error>* faults = nullptr,
                               const Numbering* numbering = nullptr);

}  // namespace reprise
