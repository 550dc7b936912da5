// The op table, read-only: what `reprise ops` shows and what tools and generators read.
//
//   for (const OpInfo& op : op_table()) std::cout << op.name << ": " << op.summary << "\n";
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// One operand of an op.
struct OperandInfo {
  std::string_view name;                 ///< "x..." repeats (one or more), "x...*" any number, "x?" may be left out
  std::string_view shape;                ///< in words
  std::string dtype_words;               ///< dtypes, in words: "any real dtype"
  std::vector<std::string_view> dtypes;  ///< that it may have
};

/// One attribute of an op, in wire order.
struct AttributeInfo {
  std::string_view name;
  std::string_view kind;     ///< "integer", "flag", "real", "dtype", "mode", "integers" or "tensor types"
  std::string_view summary;  ///< what it means
  std::string range;         ///< "0 or more"; empty: any
  std::string default_text;  ///< what the builder and the text form assume when it is left out; empty: required
};

/// How far a result of one dtype may be from the exact one: relative * size + absolute, size being the magnitude of the
/// exact result, or 1 if that is greater and `relative_to_one` is set.
struct ToleranceInfo {
  std::string_view dtype;
  double relative = 0;
  double absolute = 0;
  bool relative_to_one = false;
};

/// One op.
struct OpInfo {
  std::string_view name;
  std::string_view family;
  std::string_view summary;               ///< one line
  std::string signature;                  ///< an instruction in the text form, with kinds for attributes
  std::string_view result;                ///< shape and dtype of the results
  std::string_view rule;                  ///< exact semantics
  std::string_view errors;                ///< what is refused beside wrong dtypes and attributes out of their range
  std::string_view example;               ///< instruction, operands ("in") and results ("out"); the tests run it
  std::vector<OperandInfo> operands;      ///< in order
  std::vector<AttributeInfo> attributes;  ///< in wire order
  std::string wire;                       ///< the positional layout of the attributes on the wire
  std::vector<std::string_view> dtypes;   ///< of the main operands, or of the result of an op without any
  std::string_view results;               ///< how many results, in words
  std::string_view tolerance;             ///< why results are not exact, or "exact"
  std::vector<ToleranceInfo> tolerances;  ///< by dtype of the result; exact where none is listed
  bool extension = false;                 ///< not an op of the reference system
};

/// All ops, by family and then in the order of the reference manual.
const std::vector<OpInfo>& op_table();

/// The op called `name`, or null.
const OpInfo* find_op(std::string_view name);

/// One op as a JSON object, indented, for tools.
std::string to_json(const OpInfo& op);

/// The op table as a JSON array of such objects.
std::string op_table_json();

}  // namespace reprise
