#include "reprise/program.hpp"

#include <bit>
#include <cstring>

#include "program/array_access.hpp"

namespace reprise {
namespace {

std::string_view prefix(RefKind kind) {
  switch (kind) {
    case RefKind::input: return "in";
    case RefKind::capture: return "cap";
    case RefKind::constant: return "const";
    case RefKind::result: return "%";
    case RefKind::carry: return "carry";
  }
  return "?";
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

}  // namespace

std::string to_string(const Ref& ref) { return std::string(prefix(ref.kind)) + std::to_string(ref.index); }

bool Constant::operator==(const Constant& other) const {
  if (dtype != other.dtype || value.index() != other.value.index()) return false;
  if (const auto* d = std::get_if<double>(&value)) return same_bits(*d, std::get<double>(other.value));
  if (const auto* c = std::get_if<std::complex<double>>(&value)) {
    const auto& o = std::get<std::complex<double>>(other.value);
    return same_bits(c->real(), o.real()) && same_bits(c->imag(), o.imag());
  }
  return value == other.value;
}

TensorType Capture::type() const { return value ? type_of(*value) : TensorType{}; }

bool Capture::operator==(const Capture& other) const {
  if (name != other.name) return false;
  if (value == other.value) return true;
  return value && other.value && same_content(*value, *other.value);
}

}  // namespace reprise
