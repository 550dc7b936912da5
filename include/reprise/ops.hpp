// The op table, read-only: what `reprise ops` shows and what tools and generators read.
//
//   for (const OpInfo& op : op_table()) std::cout << op.name << ": " << op.summary << "\n";
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// One attribute of an op, in wire order.
struct AttributeInfo {
  std::string_view name;
  std::string_view kind;     ///< "integer", "flag", "real", "dtype", "mode", "integers" or "tensor types"
  std::string_view summary;  ///< what it means
  std::string default_text;  ///< what the builder and the text form assume when it is left out; empty: required
};

/// One op.
struct OpInfo {
  std::string_view name;
  std::string_view family;
  std::string_view summary;                ///< one line
  std::string_view rule;                   ///< shapes, dtypes and exact semantics
  std::vector<std::string_view> operands;  ///< names; a trailing "..." marks any number, a trailing "?" an optional one
  std::vector<AttributeInfo> attributes;   ///< in wire order
  std::string wire;                        ///< the positional layout of the attributes on the wire
  std::vector<std::string_view> dtypes;    ///< dtypes that the first operand may have
  std::string_view results;                ///< how many results, in words
  std::string_view tolerance;              ///< how close results are to the exact ones, and why
  bool extension = false;                  ///< not an op of the reference system
};

/// All ops, by family and then in the order of the reference manual.
const std::vector<OpInfo>& op_table();

/// The op called `name`, or null.
const OpInfo* find_op(std::string_view name);

}  // namespace reprise
