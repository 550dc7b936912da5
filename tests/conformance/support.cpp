#include "conformance/support.hpp"

#include <fmt/format.h>
#include <gtest/gtest-spi.h>

#include <nlohmann/json.hpp>

#include "conformance/case_program.hpp"
#include "conformance/case_run.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"

namespace reprise::conformance {
namespace {

using ops::OpDef;

// Small values that every dtype has and every op takes; floats and complex numbers keep those of the case.
Literal retyped(const Literal& literal, DType d) {
  Literal out{{d, literal.type.shape}, {}, false};
  for (std::size_t k = 0; k < literal.elements.size(); ++k) {
    const double value = std::visit(
        [](auto v) {
          if constexpr (std::is_same_v<decltype(v), std::complex<double>>) {
            return v.real();
          } else {
            return static_cast<double>(v);
          }
        },
        literal.elements[k]);
    if (d == DType::bool_) {
      out.elements.emplace_back(static_cast<std::int64_t>(k % 2));
    } else if (is_floating(d) || is_complex(d)) {
      out.elements.emplace_back(value);
    } else {
      out.elements.emplace_back(static_cast<std::int64_t>(1 + k % 3));
    }
  }
  return out;
}

DType unsigned_of_size(DType d) {
  switch (size_of(d)) {
    case 1: return DType::uint8;
    case 2: return DType::uint16;
    case 4: return DType::uint32;
    default: return DType::uint64;
  }
}

// The same attributes with another dtype in those that are dtypes.
std::vector<Attr> with_dtype(const OpDef& op, const std::vector<Attr>& attrs, DType d) {
  if (!op.attrs) return attrs;
  const auto box = ops::decode_attrs(*op.attrs, attrs).value();
  std::vector<std::pair<std::string, ops::Value>> named;
  for (auto& [name, value] : ops::named_attrs(*op.attrs, box.get())) {
    if (std::holds_alternative<DType>(value)) value = d;
    if (auto* types = std::get_if<std::vector<TensorType>>(&value)) {
      for (TensorType& type : *types) type.dtype = d;
    }
    named.emplace_back(std::string(name), std::move(value));
  }
  return ops::attrs_from_named(*op.attrs, named).value();
}

bool is_main(const OpDef& op, std::size_t operand) {
  return op.operand(operand).dtypes == 0 || op.name == "runtime_call" || op.name == "while";
}

// One instruction with valid operands: the op's first case that gives a result.
Case model_of(const OpDef& op, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    if (one.op == op.name && one.says.empty()) return one;
  }
  // Ops whose cases are programs only: factorisations, whose products are compared. All take a matrix.
  Case out;
  out.op = op.name;
  Literal matrix;
  matrix.type = {DType::float32, {2, 2}};
  for (const double value : {4.0, 1.0, 1.0, 3.0}) matrix.elements.emplace_back(value);
  out.inputs.push_back(std::move(matrix));
  return out;
}

constexpr std::string_view kLoop = R"(reprise 1
inputs 1
const0 = 0 : s32
const1 = 1 : s32
%0, %1 = while const0, in0 {
  cond {
    %0 = less carry0, const1
    return %0
  }
  body {
    %0 = add carry0, const1
    return %0, carry1
  }
}
return %1
)";

struct Try {
  Program program;
  std::vector<Literal> inputs;
};

// astype has two sides, the others one.
std::vector<Try> tries_of(const OpDef& op, DType d, const std::vector<Case>& cases) {
  if (op.name == "while") {
    Literal slot;
    slot.type = {d, {2}};
    for (const std::int64_t value : {0, 1}) slot.elements.emplace_back(value);
    return {{parse_program(kLoop, {}).value(), {std::move(slot)}}};
  }
  const Case model = model_of(op, cases);
  std::vector<Literal> inputs;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    inputs.push_back(is_main(op, i) ? retyped(model.inputs[i], d) : model.inputs[i]);
  }
  const auto on = [&](const std::vector<Literal>& operands, DType attribute) -> Try {
    auto attrs = with_dtype(op, model.attrs, attribute);
    return {Program(instruction_on_inputs(std::string(op.name), operands.size(), std::move(attrs), 1)), operands};
  };
  if (op.name == "bitcast") return {on(inputs, unsigned_of_size(d))};
  if (op.name == "astype") return {on(inputs, DType::float32), on(model.inputs, d)};
  return {on(inputs, d)};
}

Entry attempt(const OpDef& op, DType d, const std::vector<Case>& cases, const CompileOptions& target) {
  Entry out;
  for (const Try& one : tries_of(op, d, cases)) {
    const auto failed = [&](const Error& error) {
      const bool refused = error.code() == ErrorCode::infer || error.code() == ErrorCode::unsupported;
      return Entry{.supported = false, .result = {}, .refusal = error.message(), .broken = !refused};
    };
    const auto executable = compile(one.program, target);
    if (!executable) return failed(executable.error());
    const auto results = executable->run(arrays_of(one.inputs), echoing());
    if (!results) return failed(results.error());
    out.supported = true;
    out.result = name(type_of(results->front()).dtype);
  }
  return out;
}

DType main_dtype(const OpDef& op, const Case& one) {
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    if (is_main(op, i)) return one.inputs[i].type.dtype;
  }
  return one.outputs.empty() ? DType::float32 : one.outputs[0].type.dtype;
}

}  // namespace

Support survey(const CompileOptions& target, const std::vector<Case>& cases) {
  Support out;
  for (const OpDef* op : ops::all_defs()) {
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto d = static_cast<DType>(i);
      out[std::string(op->name)][d] = attempt(*op, d, cases, target);
    }
  }
  return out;
}

void count_cases(const std::vector<Case>& cases, const CompileOptions& target, Support& support) {
  for (const Case& one : cases) {
    if (one.op.empty()) continue;
    Entry& entry = support[one.op][main_dtype(*ops::find_def(one.op), one)];
    testing::TestPartResultArray parts;
    {
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
      check_case(one, target);
    }
    ++(parts.size() > 0 ? entry.failed : one.says.empty() ? entry.passed : entry.refused);
  }
}

std::string to_json(const std::string& device, const std::map<std::string, Support>& by_backend) {
  using nlohmann::ordered_json;
  std::string out = fmt::format("{{\n  \"device\": \"{}\",\n  \"backends\": {{", device);
  const char* between_backends = "\n";
  for (const auto& [backend, support] : by_backend) {
    out += fmt::format("{}    \"{}\": {{", between_backends, backend);
    const char* between = "\n";
    for (const OpDef* op : ops::all_defs()) {
      ordered_json dtypes = ordered_json::object();
      for (const auto& [d, entry] : support.at(std::string(op->name))) {
        ordered_json one{{"supported", entry.supported}};
        if (entry.supported) one["result"] = entry.result;
        if (entry.passed > 0) one["passed"] = entry.passed;
        if (entry.refused > 0) one["refused"] = entry.refused;
        if (entry.failed > 0) one["failed"] = entry.failed;
        dtypes[std::string(name(d))] = std::move(one);
      }
      out += fmt::format("{}      \"{}\": {}", between, op->name, dtypes.dump());
      between = ",\n";
    }
    out += "\n    }";
    between_backends = ",\n";
  }
  return out + "\n  }\n}\n";
}

}  // namespace reprise::conformance
