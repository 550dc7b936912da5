// Random programs, valid in form but mostly not in sense: what print, parse and verify must all survive.
//
//   RandomProgram random(seed);
//   Program program(random.next());
#pragma once

#include <mlx/mlx.h>

#include <bit>
#include <functional>
#include <random>
#include <string>

#include "ops/registry.hpp"
#include "reprise/builder.hpp"
#include "reprise/program.hpp"

namespace reprise {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : engine_(seed) {}

  ProgramData next() {
    ProgramData data;
    data.num_inputs = chance(10) ? -below(5) : below(4);
    for (int i = below(3); i > 0; --i) data.captures.push_back(capture());
    for (int i = below(5); i > 0; --i) data.constants.push_back(constant());
    fill(data.instructions, data.outputs, 0);
    data.num_real_outputs = chance(5) ? below(100) - 50 : static_cast<int>(data.outputs.size()) - below(2);
    return data;
  }

  int below(int n) { return n <= 0 ? 0 : static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(int one_in) { return below(one_in) == 0; }

  std::string bytes() {
    static constexpr std::string_view kPieces[] = {"a",     "weird op", "\"",   "\\", "\n", std::string_view("\0", 1),
                                                   "\xff",  "\xc3\xa9", "%0",   "#",  "}",  "return",
                                                   "blk.0", "\r",       "\x7f", "0"};
    std::string out;
    for (int i = below(4); i > 0; --i) out += kPieces[static_cast<std::size_t>(below(std::size(kPieces)))];
    return out;
  }

 private:
  std::int64_t integer() {
    switch (below(6)) {
      case 0: return static_cast<std::int64_t>(engine_());
      case 1: return INT64_MIN;
      case 2: return INT64_MAX;
      default: return below(9) - 3;
    }
  }

  Capture capture() {
    if (chance(8)) return {bytes(), nullptr};
    const auto dtype = static_cast<DType>(below(kDTypeCount));
    const mlx::core::Shape shape(static_cast<std::size_t>(below(3)), below(3));
    auto value = mlx::core::astype(
        mlx::core::full(shape, static_cast<float>(below(3))),
        mlx::core::Dtype(static_cast<mlx::core::Dtype::Val>(dtype), static_cast<std::uint8_t>(size_of(dtype))),
        mlx::core::Device::cpu);
    return make_capture(value, bytes()).value();
  }

  Constant constant() {
    Constant c;
    c.dtype = chance(20) ? static_cast<DType>(below(256)) : static_cast<DType>(below(kDTypeCount));
    const auto real = [&] { return chance(2) ? std::bit_cast<double>(engine_()) : below(9) - 4.5; };
    switch (below(4)) {
      case 0: c.value = real(); break;
      case 1: c.value = integer(); break;
      case 2: c.value = static_cast<std::uint64_t>(integer()); break;
      default: c.value = std::complex<double>(real(), real());
    }
    return c;
  }

  Ref ref() {
    const auto kind = static_cast<RefKind>(chance(40) ? below(256) : below(5));
    return {kind, chance(8) ? integer() : below(4)};
  }

  Attr attr() {
    static constexpr std::string_view kNames[] = {"float32", "bool", "affine", "true", "inf", "b", "attrs"};
    switch (below(6)) {
      case 0: return Name{std::string(kNames[static_cast<std::size_t>(below(std::size(kNames)))])};
      case 1: return chance(2) ? Attr(Bytes{bytes()}) : Attr(Name{bytes()});
      default: return integer();
    }
  }

  // Attributes that mostly fit: small counts and dtype names.
  std::vector<Attr> attrs(const ops::OpDef& op) {
    std::vector<Attr> out;
    if (!op.attrs || chance(6)) {
      for (int i = below(5) - 2; i > 0; --i) out.emplace_back(attr());
      return out;
    }
    for (int attempt = 0; attempt < 4; ++attempt) {
      out.clear();
      for (const ops::Field& field : op.attrs->fields) {
        switch (field.kind) {
          case ops::FieldKind::dtype:
            out.emplace_back(Name{std::string(name(static_cast<DType>(below(kDTypeCount))))});
            break;
          case ops::FieldKind::mode: out.emplace_back(Name{"affine"}); break;
          case ops::FieldKind::real: out.emplace_back(static_cast<std::int64_t>(engine_())); break;
          default: out.emplace_back(std::int64_t{below(3)});
        }
      }
      for (int i = below(8); i > 0; --i) out.emplace_back(std::int64_t{below(4)});
      if (ops::decode_attrs(*op.attrs, out)) break;
    }
    return out;
  }

  void fill(std::vector<Instruction>& list, std::vector<Ref>& outputs, int depth) {
    const auto defs = ops::all_defs();
    for (int i = below(5); i > 0; --i) {
      Instruction instruction;
      const ops::OpDef* op = defs[static_cast<std::size_t>(below(static_cast<int>(defs.size())))];
      if (depth < 3 && chance(8)) op = ops::find_def("while");
      instruction.op = chance(12) ? bytes() : std::string(op->name);
      for (int k = below(4); k > 0; --k) instruction.operands.push_back(ref());
      instruction.attrs = attrs(*op);
      const int subs = op->name == "while" ? (chance(4) ? below(4) : 2) : chance(12) ? 1 : 0;
      for (int s = 0; s < subs && depth < 4; ++s) {
        SubProgram& sub = instruction.subprograms.emplace_back();
        fill(sub.instructions, sub.outputs, depth + 1);
      }
      list.push_back(std::move(instruction));
    }
    for (int i = below(4); i > 0; --i) outputs.push_back(ref());
  }

  std::mt19937_64 engine_;
};

/// A program that keeps the contract: float32 inputs of one shape, element-wise ops, sums and nested loops.
inline Result<Program> random_valid_program(std::uint64_t seed) {
  RandomProgram random(seed);
  Builder b;
  using Values = std::vector<Value>;
  static constexpr std::string_view kUnary[] = {"tanh", "exp", "abs", "negate", "sqrt", "round"};
  static constexpr std::string_view kBinary[] = {"add", "subtract", "multiply", "divide", "min", "max", "pow"};
  const auto pick = [&](const auto& from) {
    return from[static_cast<std::size_t>(random.below(static_cast<int>(std::size(from))))];
  };
  const std::function<void(Values&, int)> extend = [&](Values& values, int depth) {
    for (int i = 1 + random.below(6); i > 0; --i) {
      switch (random.below(depth < 3 ? 5 : 4)) {
        case 0: values.push_back(b.op(pick(kUnary), {pick(values)})); break;
        case 1: values.push_back(b.op(pick(kBinary), {pick(values), b.constant(random.below(9) / 4.0)})); break;
        case 2: values.push_back(b.sum(pick(values), {}, true)); break;
        case 3: values.push_back(b.op(pick(kBinary), {pick(values), pick(values)})); break;
        default: {
          const Values initial = {pick(values), pick(values)};
          const Values out = b.while_loop(
              initial, [&](Builder& sub, std::span<const Value>) { return sub.constant(false); },
              [&](Builder&, std::span<const Value> carry) {
                Values inner(carry.begin(), carry.end());
                extend(inner, depth + 1);
                return Values{inner[inner.size() - 1], inner[inner.size() - 2]};
              });
          values.insert(values.end(), out.begin(), out.end());
        }
      }
    }
  };
  Values values = {b.input()};
  for (int i = random.below(3); i > 0; --i) values.push_back(b.input());
  extend(values, 0);
  return b.build({values.back(), pick(values)}, random.chance(3) ? Values{pick(values)} : Values{});
}

}  // namespace reprise
