#include "fuzz/noise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fuzz/rewrite.hpp"
#include "ops/norm/norm.hpp"
#include "ops/rope/rope.hpp"

namespace reprise::fuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  int bits;         // of the significand, the hidden one included
  double greatest;  // finite
};

Format format_of(DType d) {
  switch (d) {
    case DType::float16: return {11, 65504};
    case DType::bfloat16: return {8, 3.38e38};
    case DType::float64: return {53, 1.7e308};
    default: return {24, 3.4e38};
  }
}

using ops::epsilon;

bool is_inexact_type(DType d) { return is_floating(d) || is_complex(d); }

// What is known of an array's finite elements.
struct Lattice {
  int grain = 2000;     // all are multiples of 2^grain
  double greatest = 0;  // of the magnitudes
  double log_up = 0;    // sum of log2 of those above 1
  double log_down = 0;  // and of those below
  bool finite = true;
  std::size_t count = 0;
};

void include(Lattice& l, double value) {
  if (!std::isfinite(value)) {
    l.finite = false;
    return;
  }
  if (value == 0) return;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);
  const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  l.grain = std::min(l.grain, exponent - 53 + std::countr_zero(whole));
  l.greatest = std::max(l.greatest, std::abs(value));
  (std::abs(value) > 1 ? l.log_up : l.log_down) += std::log2(std::abs(value));
}

Lattice lattice_of(const TensorType& type, const std::string& bytes) {
  Lattice l;
  for (const auto& z : numbers(type, bytes)) {
    include(l, z.real());
    if (is_complex(type.dtype)) include(l, z.imag());
    ++l.count;
  }
  return l;
}

enum class Openness : std::uint8_t {
  exact,    ///< one right answer
  rounded,  ///< moves by the op's tolerance
  open,     ///< may be anything: an overflow that depends on the order, angles beyond float32
};

bool fits(double bound, int grain, DType d) { return bound <= std::ldexp(1.0, format_of(d).bits + grain); }

bool one_of(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Sums of terms whose lattice is known: exact, rounded or open.
Openness of_sum(double bound, int grain, DType d, bool elementwise) {
  if (fits(bound, grain, d)) return Openness::exact;
  return bound > format_of(d).greatest && !elementwise ? Openness::open : Openness::rounded;
}

Openness classify(const ops::OpDef& op, const std::vector<Lattice>& in, const std::vector<TensorType>& types, DType d) {
  const auto count = [&](std::size_t i) { return static_cast<double>(std::max<std::size_t>(in[i].count, 1)); };
  const double twice = is_complex(d) ? 2 : 1;
  if (one_of(op.name, {"abs", "sign"})) return is_complex(types[0].dtype) ? Openness::rounded : Openness::exact;
  if (one_of(op.name, {"add", "subtract"})) {
    return of_sum(in[0].greatest + in[1].greatest, std::min(in[0].grain, in[1].grain), d, true);
  }
  if (op.name == "multiply") return of_sum(twice * in[0].greatest * in[1].greatest, in[0].grain + in[1].grain, d, true);
  if (one_of(op.name, {"sum", "window_sum", "cumulative_sum"})) {
    return of_sum(count(0) * in[0].greatest, in[0].grain, d, false);
  }
  if (one_of(op.name, {"dot", "conv_general"})) {
    // Whether the zeros of padding meet the weights at all is the backend's business: 0 * inf.
    if (op.name == "conv_general" && !in[1].finite) return Openness::open;
    return of_sum(twice * std::min(count(0), count(1)) * in[0].greatest * in[1].greatest, in[0].grain + in[1].grain, d,
                  false);
  }
  if (op.name == "indexed_add") {
    return of_sum(in[0].greatest + count(2) * in[2].greatest, std::min(in[0].grain, in[2].grain), d, false);
  }
  if (op.name.starts_with("window_scatter")) {
    return of_sum(in[2].greatest + count(1) * in[1].greatest, std::min(in[1].grain, in[2].grain), d, false);
  }
  if (op.name.find("product") != std::string_view::npos) {
    const double top = std::log2(format_of(d).greatest);
    return in[0].log_up > top || in[0].log_down < -top ? Openness::open : Openness::rounded;
  }
  // The sigmoid underflows before it meets what is large.
  if (op.name == "fast_swiglu" && in[0].greatest * in[1].greatest > 1e6) return Openness::open;
  if (has(op.traits, ops::Trait::elementwise)) return Openness::rounded;
  // Many terms, squares and exponentials of them.
  double bound = 1;
  bool finite = true;
  for (const Lattice& l : in) {
    bound *= std::max(1.0, l.greatest);
    finite = finite && l.finite;
  }
  // MLX keeps attention's scores in the operands' dtype.
  return !finite || bound > std::min(1e15, format_of(d).greatest / 64) ? Openness::open : Openness::rounded;
}

// min, max and what takes one of several equal elements: zeros of either sign are equal.
bool picks_a_zero(const ops::OpDef& op) {
  return one_of(op.name, {"min", "max", "clip", "reduce_min", "reduce_max", "cumulative_min", "cumulative_max",
                          "window_min", "window_max", "sum", "cumulative_sum", "window_sum", "round"});
}

class Noise : public Rewriter {
 public:
  Noise(const Trace& trace, Random& random) : trace_(trace), random_(random), snap_(random.percent(35)) {}

 protected:
  std::vector<Operand> replace(const Item& item) override {
    if (item.op.name == "bitcast" && is_inexact_type(item.operands[0].type.dtype)) return replace_bitcast(item);
    const bool exact = bound_of(item.op, item.results.empty() ? DType::int32 : floating_result(item)).relative == 0;
    if (exact) {
      std::vector<Operand> out = copy(item);
      if (picks_a_zero(item.op) && is_inexact_type(out[0].type.dtype)) out[0] = flip_zeros(out[0]);
      return out;
    }
    const Openness open = openness(item);
    if (open == Openness::exact) {
      std::vector<Operand> out = copy(item);
      if (picks_a_zero(item.op) && is_inexact_type(out[0].type.dtype)) out[0] = flip_zeros(out[0]);
      return out;
    }
    Item moved = item;
    if (!has(item.op.traits, ops::Trait::elementwise) && !snap_) {
      for (std::size_t k = 0; k < moved.operands.size(); ++k) {
        Operand& x = moved.operands[k];
        // Integers that are added up become terms like others.
        const bool term = item.op.family == "dot" || item.op.family == "conv" ||
                          (item.op.name == "indexed_add" && k == 2) ||
                          (item.op.name.starts_with("window_scatter") && k > 0);
        if (term && is_integer(x.type.dtype) && item.op.name != "quantized_matmul") {
          x = add("astype", {x}, {{"dtype", floating_result(item)}});
        }
        if (!is_inexact_type(x.type.dtype)) continue;
        // Rounding inside is no more than that of each term, twice.
        moved.operands[k] = scaled(moved.operands[k], 2 * epsilon(compute_type(moved.operands[k].type.dtype)));
        moved.instruction.operands[k] = moved.operands[k].ref;
      }
    }
    std::vector<Operand> out = copy(moved);
    free_signs(item.op, out);
    for (Operand& x : out) {
      if (!is_inexact_type(x.type.dtype)) continue;
      const Bound bound = bound_of(item.op, x.type.dtype);
      if (snap_) {
        x = snapped(x, bound);
        continue;
      }
      if (open == Openness::open) {
        x = add("multiply", {x, random_factors(x.type, 0.9)});
        x = spoiled(x);
        continue;
      }
      x = scaled(x, bound.relative);
      if (bound.absolute > 0) x = shifted(x, bound.absolute);
      // Without a trace nobody knows whether an order of terms overflowed.
      const bool untraced = item.first_result == kInLoop && !has(item.op.traits, ops::Trait::elementwise);
      if (is_complex(x.type.dtype) || untraced) x = spoiled_where_not_finite(x);
      if (untraced) x = spoiled_where_large(x, item.operands);
    }
    return out;
  }

 private:
  static DType floating_result(const Item& item) {
    for (const TensorType& t : item.results) {
      if (is_inexact_type(t.dtype)) return t.dtype;
    }
    return DType::int32;
  }

  static DType compute_type(DType d) { return d == DType::float64 ? d : is_complex(d) ? DType::float32 : d; }

  Openness openness(const Item& item) const {
    const DType d = floating_result(item);
    if (item.first_result == kInLoop || !trace_) return Openness::rounded;
    const Instruction& old = original().data.instructions[instruction_at(item.first_result)];
    std::vector<Lattice> in;
    std::vector<TensorType> types;
    for (const Ref& ref : old.operands) {
      const auto [type, bytes] = value_of(ref);
      in.push_back(lattice_of(type, bytes));
      types.push_back(type);
    }
    if (item.op.family == "rope") return rope(item, in);
    if (item.op.name.starts_with("fast_layer_norm") && divides_by_nothing(item)) return Openness::open;
    return classify(item.op, in, types, d);
  }

  static Openness rope(const Item& item, const std::vector<Lattice>& in) {
    const auto box = ops::decode_attrs(*item.op.attrs, item.instruction.attrs).value();
    const auto& attrs = *static_cast<const ops::RopeAttrs*>(box.get());
    const double position = in.size() > 1 ? in[1].greatest : std::abs(static_cast<double>(attrs.offset)) + 100;
    const bool finite = std::all_of(in.begin(), in.end(), [](const Lattice& l) { return l.finite; });
    return !finite || position * std::abs(attrs.scale) > 200 || in[0].greatest > 1e30 ? Openness::open
                                                                                      : Openness::rounded;
  }

  // Rows of equal elements: 0 / 0, or the rounding of the mean divided by itself.
  static bool divides_by_nothing(const Item& item) {
    const auto box = ops::decode_attrs(*item.op.attrs, item.instruction.attrs).value();
    return static_cast<const ops::EpsAttrs*>(box.get())->eps < 1e-9;
  }

  std::size_t instruction_at(std::size_t first_result) const {
    const auto& list = typed_list();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].first_result == first_result && list[i].result_count > 0) return i;
    }
    return list.size();
  }

  const std::vector<VerifiedInstruction>& typed_list() const {
    if (!verified_) verified_ = verify(Program(original().data)).value();
    return verified_->list().instructions;
  }

  std::pair<TensorType, std::string> value_of(const Ref& ref) const {
    const auto i = static_cast<std::size_t>(ref.index);
    switch (ref.kind) {
      case RefKind::input: return {original().inputs[i].type, original().inputs[i].bytes};
      case RefKind::capture: {
        const ArraySpec spec = spec_of(*original().data.captures[i].value);
        return {spec.type, spec.bytes};
      }
      case RefKind::constant: {
        const Constant& c = original().data.constants[i];
        const TensorType type{c.dtype, {}};
        const auto value = std::visit([](auto v) { return std::complex<double>(v); }, c.value);
        // Integers are only measured; their bits do not matter here.
        const TensorType wide{is_inexact_type(c.dtype) ? c.dtype : DType::float64, {}};
        std::string bytes;
        append(bytes, wide.dtype, value);
        return {wide, bytes};
      }
      default: return {(*trace_)[i].type, (*trace_)[i].bytes};
    }
  }

  // x * (1 + delta), each element with its own delta.
  Operand scaled(const Operand& x, double by) { return add("multiply", {x, random_factors(x.type, by)}); }

  // As far as `by`, or just to the next numbers: that may be 1, where something begins.
  Operand random_factors(const TensorType& type, double by) {
    const DType d = is_complex(type.dtype) ? DType::float32 : type.dtype;
    const double next = std::min(by, epsilon(d));
    ArraySpec spec{{d, type.shape}, {}, Layout::dense};
    for (std::size_t i = element_total(type); i > 0; --i) {
      append(spec.bytes, d, 1 + (random_.coin() ? by : next) * static_cast<double>(random_.between(-2, 2)) / 2);
    }
    return capture_of(spec);
  }

  // The nearest number of fewer digits, as far as the tolerance goes. Where a result should be 1, 0.5 or another number
  // exactly, one backend hits it and another may not, but no random move does.
  Operand snapped(const Operand& x, const Bound& bound) {
    const DType d = is_complex(x.type.dtype) ? DType::float32 : x.type.dtype;
    const int digits =
        std::clamp(static_cast<int>(std::ceil(std::log2(bound.relative / epsilon(d)))) + 1, 1, format_of(d).bits - 2);
    // Dekker's split: the upper part of x is c - (c - x) with c = x * (2^digits + 1).
    const Operand c = add("multiply", {x, capture_of(filled({d, {}}, std::ldexp(1.0, digits) + 1))});
    const Operand upper = add("subtract", {c, add("subtract", {c, x})});
    const Operand size = add("abs", {x});
    const auto limit = [&](double value) { return capture_of(filled({size.type.dtype, {}}, value)); };
    // Not where c overflows.
    const Operand safe = add("less", {size, limit(format_of(d).greatest / std::ldexp(4.0, digits))});
    Operand out = add("select", {safe, upper, x});
    if (bound.absolute > 0) {
      const Operand none = add("less_equal", {size, limit(2 * bound.absolute)});
      out = add("select", {none, capture_of(filled({x.type.dtype, {}}, 0)), out});
    }
    return out;
  }

  Operand shifted(const Operand& x, double by) {
    ArraySpec spec{x.type, {}, Layout::dense};
    const auto one = [&] { return by * static_cast<double>(random_.between(-1, 1)); };
    for (std::size_t i = element_total(x.type); i > 0; --i) append(spec.bytes, x.type.dtype, {one(), one()});
    return add("add", {x, capture_of(spec)});
  }

  // Some elements, or all, become something else: NaN, infinite, or small numbers.
  Operand spoiled(const Operand& x) {
    ArraySpec where{{DType::bool_, x.type.shape}, {}, Layout::dense};
    const int share = random_.pick({50, 100});
    for (std::size_t i = element_total(x.type); i > 0; --i) {
      append_integer(where.bytes, DType::bool_, random_.percent(share));
    }
    return add("select", {capture_of(where), capture_of(spoiling(x.type)), x});
  }

  ArraySpec spoiling(const TensorType& type) {
    ArraySpec spec{type, {}, Layout::dense};
    const double value = random_.pick({std::nan(""), kInfinity, -kInfinity, 0.0, 1.0, 1.0});
    const auto one = [&] {
      return value == 1 ? static_cast<double>(random_.between(-999983, 999983)) / 123457 : value;
    };
    for (std::size_t i = element_total(type); i > 0; --i) append(spec.bytes, type.dtype, {one(), one()});
    return spec;
  }

  // C++ and its libraries agree little on complex functions of infinities.
  Operand spoiled_where_not_finite(const Operand& x) {
    const Operand bad = add("logical_or", {add("is_nan", {x}), add("is_infinity", {x})});
    return add("select", {bad, capture_of(spoiling(x.type)), x});
  }

  // Squares and exponentials of what is large overflow in one backend and not in another.
  Operand spoiled_where_large(Operand x, const std::vector<Operand>& operands) {
    for (const Operand& o : operands) {
      if (!is_inexact_type(o.type.dtype)) continue;
      const Operand size = add("abs", {o});
      const double limit = std::min(1e8, std::sqrt(format_of(size.type.dtype).greatest));
      const Operand small = add("less", {size, capture_of(filled({size.type.dtype, {}}, limit))});
      ops::Ints axes;
      for (int a = 0; a < o.type.rank(); ++a) axes.push_back(a);
      const Operand good = add("all", {small}, {{"keep_axes", false}, {"axes", axes}});
      x = add("select", {good, x, capture_of(spoiling(x.type))});
    }
    return x;
  }

  Operand flip_zeros(const Operand& x) {
    const DType d = is_complex(x.type.dtype) ? DType::float32 : x.type.dtype;
    ArraySpec signs{{d, x.type.shape}, {}, Layout::dense};
    for (std::size_t i = element_total(x.type); i > 0; --i) append(signs.bytes, d, random_.coin() ? 1 : -1);
    ArraySpec zero = filled({x.type.dtype, {}}, 0);
    return add("select", {add("equal", {x, capture_of(zero)}), add("multiply", {x, capture_of(signs)}), x});
  }

  // The bits of a NaN are nobody's business.
  std::vector<Operand> replace_bitcast(const Item& item) {
    const Operand& x = item.operands[0];
    ArraySpec other{{x.type.dtype, {}}, {}, Layout::dense};
    append(other.bytes, x.type.dtype, {random_.coin() ? -std::nan("") : std::nan(""), 0});
    other.bytes[0] = static_cast<char>(random_.coin() ? 1 : 3);
    Item moved = item;
    moved.operands[0] = add("select", {add("is_nan", {x}), capture_of(other), x});
    moved.instruction.operands[0] = moved.operands[0].ref;
    return copy(moved);
  }

  // Columns of factors may be turned around.
  void free_signs(const ops::OpDef& op, std::vector<Operand>& out) {
    const auto turn = [&](std::size_t k, bool rows, const std::vector<double>& signs) {
      const Shape& s = out[k].type.shape;
      const std::int64_t n = s[s.size() - (rows ? 2 : 1)];
      const DType d = is_complex(out[k].type.dtype) ? DType::float32 : out[k].type.dtype;
      ArraySpec spec{{d, rows ? Shape{n, 1} : Shape{n}}, {}, Layout::dense};
      for (std::int64_t i = 0; i < n; ++i) append(spec.bytes, d, signs[static_cast<std::size_t>(i) % signs.size()]);
      out[k] = add("multiply", {out[k], capture_of(spec)});
    };
    std::vector<double> signs;
    for (int i = 0; i < 40; ++i) signs.push_back(random_.coin() ? 1 : -1);
    if (op.name == "qr") {
      turn(0, false, signs);
      turn(1, true, signs);
    } else if (op.name == "eigh") {
      turn(1, false, signs);
    } else if (op.name == "svd") {
      turn(0, false, signs);
      turn(2, true, signs);
    }
  }

  const Trace& trace_;
  Random& random_;
  const bool snap_;  // this time to round numbers
  mutable std::optional<VerifiedProgram> verified_;
};

class Widen : public Rewriter {
 protected:
  std::vector<Operand> replace(const Item& item) override {
    const bool inexact = std::any_of(item.results.begin(), item.results.end(), [&](const TensorType& t) {
      return is_floating(t.dtype) && bound_of(item.op, t.dtype).relative > 0;
    });
    if (!inexact || item.op.family == "linalg") return copy(item);
    // An integer is rounded to the dtype of the result first, which wider operands would not show.
    const bool indexed = item.op.family == "index" || item.op.family == "rope" || item.op.family == "dot";
    if (std::any_of(item.operands.begin(), item.operands.end(), [&](const Operand& o) {
          return is_integer(o.type.dtype) && (!indexed || item.op.name == "dot");
        })) {
      return copy(item);
    }
    std::vector<TensorType> types;
    for (const Operand& o : item.operands) types.push_back({wider(o.type.dtype), o.type.shape});
    const auto box = item.op.attrs ? ops::decode_attrs(*item.op.attrs, item.instruction.attrs).value() : nullptr;
    const ops::InferContext context{item.op, types};
    const auto results = item.op.infer(context, box.get());
    if (!results) return copy(item);
    for (std::size_t k = 0; k < results->size(); ++k) {
      // Integers whose function is real are computed in float32, which they would still be.
      const DType d = (*results)[k].dtype;
      if (is_floating(item.results[k].dtype) && d == item.results[k].dtype) return copy(item);
    }
    Item wide = item;
    for (std::size_t k = 0; k < wide.operands.size(); ++k) {
      Operand& x = wide.operands[k];
      if (types[k].dtype == x.type.dtype) continue;
      x = add("astype", {x}, {{"dtype", types[k].dtype}});
      wide.instruction.operands[k] = x.ref;
    }
    wide.results = *results;
    std::vector<Operand> out = copy(wide);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k].type.dtype != item.results[k].dtype) {
        out[k] = add("astype", {out[k]}, {{"dtype", item.results[k].dtype}});
      }
    }
    return out;
  }

 private:
  static DType wider(DType d) {
    if (d == DType::float16 || d == DType::bfloat16) return DType::float32;
    return d == DType::float32 ? DType::float64 : d;
  }
};

}  // namespace

Bound bound_of(const ops::OpDef& op, DType result) {
  const double relative = op.tolerance.relative(result);
  return {relative, op.tolerance.fixed(result) + (op.tolerance.relative_to_one ? relative : 0)};
}

Trace trace_of(const FuzzCase& one, const Runner& reference) {
  FuzzCase all = one;
  const auto types = typed(one);
  if (!types) return {};
  all.data.outputs.clear();
  for (std::size_t i = 0; i < types->types().results.size(); ++i) {
    all.data.outputs.push_back(result(static_cast<std::int64_t>(i)));
  }
  all.data.num_real_outputs = static_cast<std::int32_t>(all.data.outputs.size());
  auto values = reference.run(all);
  if (!values) return {};
  return *std::move(values);
}

FuzzCase noised(const FuzzCase& one, const Trace& trace, Random& random) { return Noise(trace, random).rewrite(one); }

FuzzCase widened(const FuzzCase& one) { return Widen().rewrite(one); }

}  // namespace reprise::fuzz
