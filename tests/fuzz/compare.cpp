#include "fuzz/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "fuzz/noise.hpp"

namespace reprise::fuzz {
namespace {

constexpr int kFewRuns = 4;
constexpr int kManyRuns = 40;
// An error that noise did not quite reach is no fault yet.
constexpr double kSpreadFactor = 4;

using Number = std::complex<double>;

bool is_nan(const Number& z) { return std::isnan(z.real()) || std::isnan(z.imag()); }

bool equal(const Number& a, const Number& b) { return is_nan(a) ? is_nan(b) : a == b; }

/// Finite, or the same otherwise.
bool same_kind(const Number& a, const Number& b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && is_nan(b);
  const auto part = [](double x, double y) { return std::isinf(x) || std::isinf(y) ? x == y : true; };
  return part(a.real(), b.real()) && part(a.imag(), b.imag());
}

double distance(const Number& a, const Number& b) {
  const auto part = [](double x, double y) { return x == y ? 0.0 : std::abs(x - y); };
  return std::hypot(part(a.real(), b.real()), part(a.imag(), b.imag()));
}

bool integral(DType d) { return !is_floating(d) && !is_complex(d); }

// The tolerance of whatever made each output.
std::vector<Bound> bounds_of(const FuzzCase& one, const TypedProgram& types) {
  std::vector<Bound> out;
  for (const Ref& ref : one.data.outputs) {
    Bound bound;
    if (ref.kind == RefKind::result) {
      for (const VerifiedInstruction& i : types.verified().list().instructions) {
        const auto at = static_cast<std::size_t>(ref.index);
        if (at >= i.first_result && at < i.first_result + i.result_count) {
          bound = bound_of(*i.op, types.type_of(ref).dtype);
        }
      }
    }
    out.push_back({2 * bound.relative, 2 * bound.absolute});
  }
  return out;
}

// Runs of the program with noise, made when the first is asked for.
class NoisedRuns {
 public:
  NoisedRuns(const FuzzCase& one, const Runner& reference, std::uint64_t seed)
      : one_(one), reference_(reference), random_(seed, 0x6e6f697365) {}

  /// At least n runs. An error among them leaves everything open.
  const std::vector<Result<Outputs>>& get(int n) {
    if (!traced_) trace_ = trace_of(one_, reference_);
    traced_ = true;
    while (static_cast<int>(runs_.size()) < n) runs_.push_back(reference_.run(noised(one_, trace_, random_)));
    return runs_;
  }

 private:
  const FuzzCase& one_;
  const Runner& reference_;
  Random random_;
  bool traced_ = false;
  Trace trace_;
  std::vector<Result<Outputs>> runs_;
};

enum class Verdict : std::uint8_t { spread, unstable, differs };

Verdict judge(const std::vector<Result<Outputs>>& runs, std::size_t output, std::size_t element, const Number& a,
              const Number& b, DType d, double allowed) {
  double spread = 0;
  for (const auto& run : runs) {
    if (!run) return Verdict::unstable;
    const ArraySpec& value = (*run)[output];
    const std::size_t size = size_of(d);
    const Number n = numbers({d, {}}, value.bytes.substr(element * size, size))[0];
    if (!same_kind(n, a) || (integral(d) && n != a)) return Verdict::unstable;
    spread = std::max(spread, distance(n, a));
  }
  if (!integral(d) && same_kind(a, b) && distance(a, b) <= allowed + kSpreadFactor * spread) return Verdict::spread;
  return Verdict::differs;
}

std::string show(const Number& z, DType d) {
  return is_complex(d) ? fmt::format("({}, {})", z.real(), z.imag()) : fmt::format("{}", z.real());
}

// The first element that differs, unless `excused` says why it may.
std::optional<std::string> difference(const FuzzCase& one, const Outputs& a, const Outputs& b, NoisedRuns& noise,
                                      std::string_view name, Comparison& seen, const std::function<bool()>& excused) {
  const std::vector<Bound> bounds = bounds_of(one, typed(one).value());
  if (a.size() != b.size()) return fmt::format("{} outputs, {} with {}", a.size(), b.size(), name);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].type != b[k].type) {
      return fmt::format("output {} is {}, {} with {}", k, to_string(a[k].type), to_string(b[k].type), name);
    }
    if (a[k].bytes == b[k].bytes) {
      seen.equal += element_total(a[k].type);
      continue;
    }
    const DType d = a[k].type.dtype;
    const auto xs = numbers(a[k].type, a[k].bytes);
    const auto ys = numbers(b[k].type, b[k].bytes);
    for (std::size_t e = 0; e < xs.size(); ++e) {
      const double allowed = bounds[k].relative * std::abs(xs[e]) + bounds[k].absolute;
      // Numbers round integers of 64 bits: the bytes decide.
      const std::size_t size = size_of(d);
      const bool same =
          integral(d) ? a[k].bytes.compare(e * size, size, b[k].bytes, e * size, size) == 0 : equal(xs[e], ys[e]);
      if (same) {
        ++seen.equal;
        continue;
      }
      if (!integral(d) && same_kind(xs[e], ys[e]) && distance(xs[e], ys[e]) <= allowed) {
        ++seen.tolerated;
        continue;
      }
      Verdict verdict = judge(noise.get(kFewRuns), k, e, xs[e], ys[e], d, allowed);
      if (verdict == Verdict::differs) verdict = judge(noise.get(kManyRuns), k, e, xs[e], ys[e], d, allowed);
      if (verdict == Verdict::differs && !excused()) {
        return fmt::format("output {}, {}: element {} is {}, {} with {}", k, to_string(a[k].type), e, show(xs[e], d),
                           show(ys[e], d), name);
      }
      ++(verdict == Verdict::spread ? seen.spread : seen.unstable);
    }
  }
  return {};
}

// Whether the other is right step by step: it computes its outputs from its own intermediate values, and each of these,
// given the values before it, is what the reference would have or as good.
bool each_step_is_right(const FuzzCase& one, const Outputs& outputs, const Runner& reference, const Runner& other,
                        std::uint64_t seed) {
  const Trace trace = trace_of(one, other);
  if (!trace) return false;
  Outputs traced;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Ref& ref = one.data.outputs[k];
    traced.push_back(ref.kind == RefKind::result ? (*trace)[static_cast<std::size_t>(ref.index)] : outputs[k]);
  }
  const auto never = [] { return false; };
  Comparison ignored;
  NoisedRuns noise_of_all(one, reference, seed);
  // Asked for all values it may round otherwise.
  if (difference(one, traced, outputs, noise_of_all, other.name(), ignored, never)) return false;
  const auto first_input = static_cast<std::int64_t>(one.inputs.size());
  const TypedProgram types = typed(one).value();
  const auto& list = types.verified().list().instructions;
  for (std::size_t i = 0; i < list.size(); ++i) {
    FuzzCase step = one;
    step.inputs.insert(step.inputs.end(), trace->begin(), trace->end());
    step.data.num_inputs = static_cast<std::int32_t>(step.inputs.size());
    step.data.instructions = {one.data.instructions[i]};
    for (Ref& ref : step.data.instructions[0].operands) {
      if (ref.kind == RefKind::result) ref = input(first_input + ref.index);
    }
    step.data.outputs.clear();
    Outputs seen_values;
    for (std::size_t r = 0; r < list[i].result_count; ++r) {
      step.data.outputs.push_back(result(static_cast<std::int64_t>(r)));
      seen_values.push_back((*trace)[list[i].first_result + r]);
    }
    step.data.num_real_outputs = static_cast<std::int32_t>(step.data.outputs.size());
    if (seen_values.empty()) continue;
    step = without_dead_parts(step);
    const auto wanted = reference.run(step);
    if (!wanted) return false;
    NoisedRuns noise(step, reference, seed);
    if (difference(step, *wanted, seen_values, noise, other.name(), ignored, never)) return false;
  }
  return true;
}

}  // namespace

void Comparison::add(const Comparison& other) {
  equal += other.equal;
  tolerated += other.tolerated;
  spread += other.spread;
  unstable += other.unstable;
  same_error += other.same_error;
}

std::optional<std::string> compare(const FuzzCase& one, const Runner& reference, const Runner& other,
                                   std::uint64_t seed, Comparison& seen) {
  const auto a = reference.run(one);
  const auto b = other.run(one);
  NoisedRuns noise(one, reference, seed);
  if (a && b) {
    std::optional<bool> right;
    return difference(one, *a, *b, noise, other.name(), seen, [&] {
      if (!right) right = each_step_is_right(one, *b, reference, other, seed);
      return *right;
    });
  }
  if (!a && !b && a.error().code() == b.error().code()) {
    ++seen.same_error;
    return {};
  }
  const auto& runs = noise.get(kManyRuns);
  if (std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.ok() != a.ok(); })) {
    ++seen.unstable;
    return {};
  }
  const auto said = [](const Result<Outputs>& r) { return r ? std::string("succeeds") : r.error().message(); };
  return fmt::format("{}: {}; {}: {}", reference.name(), said(a), other.name(), said(b));
}

}  // namespace reprise::fuzz
