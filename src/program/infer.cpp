#include "program/infer.hpp"

#include <limits>

#include "base/format.hpp"

namespace reprise {
namespace {

/// As NumPy has it. Without a bound, types of huge ranks cost more than the program that asks for them.
constexpr std::size_t kMaxRank = 64;

/// MLX counts a dimension in 32 bits.
constexpr std::int64_t kMaxDimension = std::numeric_limits<std::int32_t>::max();

class Inferrer {
 public:
  Inferrer(const Program& program, std::span<const TensorType> inputs, std::int64_t max_bytes)
      : program_(program), inputs_(inputs), max_bytes_(max_bytes > 0 ? max_bytes : INT64_MAX) {
    for (const Capture& c : program->captures) captures_.push_back(c.type());
  }

  Result<TypedList> list(const VerifiedList& list, std::vector<TensorType> carries, const std::string& path) {
    TypedList out;
    out.carries = std::move(carries);
    out.results.reserve(list.result_count);
    out.subprograms.resize(list.instructions.size());
    for (std::size_t i = 0; i < list.instructions.size(); ++i) {
      const VerifiedInstruction& instruction = list.instructions[i];
      auto types = infer_instruction(instruction, out, i, path);
      if (!types) return types.error();
      for (TensorType& type : *types) {
        if (auto fits = check_size(type); !fits) return fits.error().with_context(where(path, i, instruction));
        out.results.push_back(std::move(type));
      }
    }
    return out;
  }

  Status check_size(const TensorType& type, std::string_view what = "a result would be") const {
    if (type.shape.size() > kMaxRank) {
      return make_error(ErrorCode::limit, "{} of rank {}; at most {} is supported", what, type.shape.size(), kMaxRank);
    }
    for (const auto dim : type.shape) {
      if (dim < 0 || dim > kMaxDimension) {
        return make_error(ErrorCode::infer, "{} {}; a dimension may have 0 to {}", what, to_string(type),
                          kMaxDimension);
      }
    }
    const auto count = element_count(type.shape);
    std::int64_t bytes = 0;
    if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(type.dtype)), &bytes)) {
      return make_error(ErrorCode::limit, "{} {}, more bytes than 64 bits count", what, to_string(type));
    }
    if (bytes > max_bytes_) {
      return make_error(ErrorCode::limit, "{} {}, {} bytes; the limit is {}", what, to_string(type), bytes, max_bytes_);
    }
    return {};
  }

 private:
  static std::string where(const std::string& path, std::size_t i, const VerifiedInstruction& instruction) {
    return fmt::format("infer: {}instruction {} ({})", path, i, instruction.op->name);
  }

  TensorType type_of(const Ref& ref, const TypedList& list) const {
    const auto i = static_cast<std::size_t>(ref.index);
    switch (ref.kind) {
      case RefKind::input: return inputs_[i];
      case RefKind::capture: return captures_[i];
      case RefKind::constant: return {program_->constants[i].dtype, {}};
      case RefKind::result: return list.results[i];
      case RefKind::carry: return list.carries[i];
    }
    return {};
  }

  Result<std::vector<TensorType>> infer_instruction(const VerifiedInstruction& instruction, TypedList& list,
                                                    std::size_t i, const std::string& path) {
    operands_.clear();
    for (const Ref& ref : instruction.operands) operands_.push_back(type_of(ref, list));
    if (has(instruction.op->traits, ops::Trait::control)) {
      return loop(instruction, std::vector<TensorType>(operands_), list, i, path);
    }
    const ops::OpDef& op = *instruction.op;
    const ops::InferContext context{op, operands_};
    const auto fail = [&](const Error& e) { return e.with_context(where(path, i, instruction)); };
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (auto ok = context.require_dtype(k, op.dtypes_of(op.operand(k))); !ok) return fail(ok.error());
    }
    auto types = op.infer(context, instruction.attrs.get());
    if (!types) return fail(types.error());
    if (types->size() != instruction.result_count) {
      return fail(make_error(ErrorCode::internal, "the rule gives {} types for {} results", types->size(),
                             instruction.result_count));
    }
    return types;
  }

  // A loop's results have the carry's types; the body must keep them, slot by slot.
  Result<std::vector<TensorType>> loop(const VerifiedInstruction& instruction, std::vector<TensorType> carry,
                                       TypedList& list, std::size_t i, const std::string& path) {
    std::vector<TypedList> subs;
    constexpr const char* kNames[] = {"cond", "body"};
    for (std::size_t s = 0; s < 2; ++s) {
      const std::string inner = fmt::format("{}instruction {} ({}) {} ", path, i, instruction.op->name, kNames[s]);
      auto typed = this->list(instruction.subprograms[s], carry, inner);
      if (!typed) return typed.error();
      subs.push_back(*std::move(typed));
    }
    const TensorType predicate = type_of(instruction.subprograms[0].outputs[0], subs[0]);
    if (element_count(predicate.shape) != 1) {
      return make_error(
          ErrorCode::infer,
          "{} cond: the predicate is {}; wanted one element (item can only be called on arrays of size 1)",
          where(path, i, instruction), to_string(predicate));
    }
    for (std::size_t slot = 0; slot < carry.size(); ++slot) {
      const TensorType seen = type_of(instruction.subprograms[1].outputs[slot], subs[1]);
      if (seen != carry[slot]) {
        return make_error(ErrorCode::infer, "{} body: carry slot {} becomes {}; wanted {}, as it came in",
                          where(path, i, instruction), slot, to_string(seen), to_string(carry[slot]));
      }
    }
    list.subprograms[i] = std::move(subs);
    return carry;
  }

  const Program& program_;
  std::span<const TensorType> inputs_;
  std::int64_t max_bytes_;
  std::vector<TensorType> captures_;
  std::vector<TensorType> operands_;  // reused from instruction to instruction
};

}  // namespace

TensorType TypedProgram::type_of(const Ref& ref, const TypedList& list) const {
  const auto i = static_cast<std::size_t>(ref.index);
  switch (ref.kind) {
    case RefKind::input: return inputs_[i];
    case RefKind::capture: return program()->captures[i].type();
    case RefKind::constant: return {program()->constants[i].dtype, {}};
    case RefKind::result: return list.results[i];
    case RefKind::carry: return list.carries[i];
  }
  return {};
}

Result<TypedProgram> infer(std::shared_ptr<const VerifiedProgram> verified, std::span<const TensorType> inputs,
                           std::int64_t max_bytes) {
  const Program& program = verified->program();
  if (inputs.size() != static_cast<std::size_t>(program->num_inputs)) {
    return make_error(ErrorCode::infer, "infer: {} inputs given; the program takes {}", inputs.size(),
                      program->num_inputs);
  }
  Inferrer inferrer(program, inputs, max_bytes);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (auto fits = inferrer.check_size(inputs[i], fmt::format("input {} is", i)); !fits) {
      return fits.error().with_context("infer");
    }
  }
  auto types = inferrer.list(verified->list(), {}, "");
  if (!types) return types.error();
  return TypedProgram(std::move(verified), std::vector<TensorType>(inputs.begin(), inputs.end()), *std::move(types));
}

}  // namespace reprise
