#include "agreement.hpp"

#include <mlx/mlx.h>

#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "io/npy/npy.hpp"
#include "program/array_access.hpp"

namespace reprise::cli {
namespace {

namespace mx = mlx::core;

bool inexact(DType d) { return is_floating(d) || is_complex(d); }

double sum_of_tolerances(const VerifiedList& list, DType d) {
  double sum = 0;
  for (const VerifiedInstruction& instruction : list.instructions) {
    sum += std::max(instruction.op->tolerance.relative(d), ops::epsilon(d));
    for (const VerifiedList& sub : instruction.subprograms) sum += sum_of_tolerances(sub, d);
  }
  return sum;
}

// Row-major, one or (complex) two doubles an element.
std::vector<double> elements(const mx::array& array) {
  const mx::Device cpu = mx::Device::cpu;
  mx::array flat = mx::reshape(array, {-1}, cpu);
  if (flat.dtype() == mx::complex64) flat = mx::view(mx::contiguous(flat, false, cpu), mx::float32, cpu);
  flat = mx::contiguous(mx::astype(flat, mx::float64, cpu), false, cpu);
  flat.eval();
  return {flat.data<double>(), flat.data<double>() + flat.size()};
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double between = std::abs(a - b);
  return std::isnan(between) ? std::numeric_limits<double>::infinity() : between;
}

Result<Agreement> compare_one(std::size_t i, const mx::array& seen, const mx::array& wanted, double tolerance) {
  const TensorType type = type_of(wanted);
  if (type_of(seen) != type) {
    return make_error(ErrorCode::runtime, "output {} is {}; mlx gives {}", i, to_string(type_of(seen)),
                      to_string(type));
  }
  if (same_content(seen, wanted)) return Agreement{0, tolerance};
  if (!inexact(type.dtype))
    return make_error(ErrorCode::runtime, "output {} ({}) differs from mlx's", i, to_string(type));
  const std::vector<double> s = elements(seen);
  const std::vector<double> w = elements(wanted);
  double greatest = 0;
  double error = 0;
  std::size_t where = 0;
  for (std::size_t k = 0; k < w.size(); ++k) {
    if (std::isfinite(w[k])) greatest = std::max(greatest, std::abs(w[k]));
    if (const double d = distance(s[k], w[k]); d > error) {
      error = d;
      where = k;
    }
  }
  if (error > 0) error = greatest > 0 ? error / greatest : std::numeric_limits<double>::infinity();
  if (error > tolerance) {
    const std::size_t parts = is_complex(type.dtype) ? 2 : 1;
    return make_error(ErrorCode::runtime,
                      "output {} ({}) differs from mlx's: element {} is {} and mlx has {}, {:.2g} of the greatest "
                      "element apart; allowed {:.2g} (--tolerance)",
                      i, to_string(type), where / parts, s[where], w[where], error, tolerance);
  }
  return Agreement{error, tolerance};
}

}  // namespace

std::vector<double> tolerances(const TypedProgram& typed, std::optional<double> tolerance) {
  std::vector<double> out;
  const ProgramData& data = typed.program().data();
  for (std::int32_t i = 0; i < data.num_real_outputs; ++i) {
    const DType d = typed.type_of(data.outputs[static_cast<std::size_t>(i)]).dtype;
    if (!inexact(d)) {
      out.push_back(0);
    } else {
      out.push_back(tolerance ? *tolerance : 2 * sum_of_tolerances(typed.verified().list(), d));
    }
  }
  return out;
}

Result<Agreement> compare(const std::vector<mx::array>& seen, const std::vector<mx::array>& wanted,
                          const std::vector<double>& tolerances) {
  try {
    Agreement worst;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      REPRISE_ASSIGN(const Agreement one, compare_one(i, seen[i], wanted[i], tolerances[i]));
      if (i == 0 || one.error > worst.error) worst = one;
    }
    return worst;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::limit, "the outputs cannot be compared: {}", e.what());
  }
}

Result<std::uint64_t> checksum(const std::vector<mx::array>& outputs) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const mx::array& output : outputs) {
    REPRISE_ASSIGN(const EncodedNpy encoded, encode_npy(output));
    for (const char c : encoded.header) add(static_cast<std::uint8_t>(c));
    for (const std::byte b : encoded.data) add(std::to_integer<std::uint8_t>(b));
  }
  return hash;
}

}  // namespace reprise::cli
