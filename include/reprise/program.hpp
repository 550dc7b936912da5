// The program model: a flat list of tensor instructions over inputs, captured arrays and constants.
//
//   ProgramData data;
//   data.num_inputs = 1;
//   data.constants = {Constant::of(1.0, DType::float32)};
//   data.instructions = {{.op = "add", .operands = {input(0), constant(0)}}};
//   data.outputs = {result(0)};
//   data.num_real_outputs = 1;
//   Program program(std::move(data));
//
// A Program is immutable and not yet trusted: verify() says whether it keeps the contract (docs/spec/program.md). Most
// people write programs with Builder (builder.hpp) or as text (text.hpp).
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace mlx::core {
class array;
}

namespace reprise {

/// Where an operand comes from.
enum class RefKind : std::uint8_t {
  input,     ///< a run-time input; top level only
  capture,   ///< an array closed over at compile time
  constant,  ///< a scalar constant
  result,    ///< an array that an earlier instruction of the same list produced
  carry,     ///< a slot of the innermost enclosing loop
};

/// A reference to a value. The index counts arrays, not instructions; it is checked by verify(), not here.
struct Ref {
  RefKind kind = RefKind::input;
  std::int64_t index = 0;

  bool operator==(const Ref&) const = default;
};

inline Ref input(std::int64_t i) { return {RefKind::input, i}; }
inline Ref capture(std::int64_t i) { return {RefKind::capture, i}; }
inline Ref constant(std::int64_t i) { return {RefKind::constant, i}; }
inline Ref result(std::int64_t i) { return {RefKind::result, i}; }
inline Ref carry(std::int64_t i) { return {RefKind::carry, i}; }

/// "in0", "cap0", "const0", "%0", "carry0": as the text form writes it.
std::string to_string(const Ref& ref);

/// A dtype name or a mode name among the attributes.
struct Name {
  std::string text;
  bool operator==(const Name&) const = default;
};

/// A byte string among the attributes. No op takes one today.
struct Bytes {
  std::string data;
  bool operator==(const Bytes&) const = default;
};

/// One static attribute as it travels: positional and untyped. Real numbers are the bits of a binary64. The op's row
/// gives the positions their names and kinds.
using Attr = std::variant<std::int64_t, Name, Bytes>;

/// A scalar constant: an exact value and the dtype that it is converted to. Integers truncate toward zero and saturate,
/// NaN becomes 0; bool is value != 0; complex64 of a real number has imaginary part 0.
struct Constant {
  std::variant<double, std::int64_t, std::uint64_t, std::complex<double>> value = 0.0;
  DType dtype = DType::float32;

  static Constant of(double value, DType dtype) { return {value, dtype}; }
  static Constant of(std::int64_t value, DType dtype) { return {value, dtype}; }
  static Constant of(std::uint64_t value, DType dtype) { return {value, dtype}; }
  static Constant of(std::complex<double> value, DType dtype) { return {value, dtype}; }

  /// Same kind, same bits (so that NaN equals itself and 0.0 differs from -0.0) and same dtype.
  bool operator==(const Constant& other) const;
};

/// A captured array. `value` is evaluated before the program may be compiled. Equality means the same dtype, shape and
/// bytes.
struct Capture {
  std::string name;  ///< its key in the safetensors file; may be empty
  std::shared_ptr<const mlx::core::array> value;

  TensorType type() const;
  bool operator==(const Capture& other) const;
};

/// Takes the array over as a capture and forces it, so that any thread may use it. Errors: the evaluation's own.
Result<Capture> make_capture(mlx::core::array value, std::string name = {});

struct SubProgram;

struct Instruction {
  std::string op;
  std::vector<Ref> operands;
  std::vector<Attr> attrs;
  std::vector<SubProgram> subprograms;  ///< {cond, body} of a `while`, else none

  bool operator==(const Instruction&) const = default;
};

struct SubProgram {
  std::vector<Instruction> instructions;
  std::vector<Ref> outputs;

  bool operator==(const SubProgram&) const = default;
};

/// The parts of a program, to be filled in and handed to Program.
struct ProgramData {
  std::int32_t num_inputs = 0;
  std::vector<Capture> captures;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<Ref> outputs;           ///< the real outputs, then values that are only kept alive
  std::int32_t num_real_outputs = 0;  ///< how many of `outputs` the caller gets

  bool operator==(const ProgramData&) const = default;
};

/// An immutable program; copies share it.
class Program {
 public:
  explicit Program(ProgramData data) : data_(std::make_shared<const ProgramData>(std::move(data))) {}

  const ProgramData& data() const { return *data_; }
  const ProgramData* operator->() const { return data_.get(); }

  bool operator==(const Program& other) const { return data_ == other.data_ || *data_ == *other.data_; }

 private:
  std::shared_ptr<const ProgramData> data_;
};

}  // namespace reprise
