// Erlang terms as values, and their external form (what term_to_binary gives).
//
//   Result<Term> term = decode_term(bytes);
//   Term map = Term::map({{Term::atom("op"), Term::atom("add")}});
//   std::string bytes = encode_term(map);
//
// Any bytes either decode or give an error: counts are held against the bytes that remain, nesting is bounded, and
// nothing becomes an atom of a running system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/status.hpp"

namespace reprise::wire {

struct Term;

struct Atom {
  std::string name;
  bool operator==(const Atom&) const = default;
};
struct Binary {
  std::string bytes;
  bool operator==(const Binary&) const = default;
};
struct List {
  std::vector<Term> items;
  bool proper = true;  ///< false: the last item is the tail
  bool operator==(const List&) const = default;
};
struct Tuple {
  std::vector<Term> items;
  bool operator==(const Tuple&) const = default;
};
struct Map {
  std::vector<std::pair<Term, Term>> entries;
  bool operator==(const Map&) const = default;
};
/// An integer that neither int64 nor uint64 holds.
struct BigInteger {
  std::size_t bytes = 0;
  bool negative = false;
  bool operator==(const BigInteger&) const = default;
};
/// A pid, reference, function or whatever else a program has no use for; captures stand here, by a number of the
/// host's.
struct Opaque {
  std::string kind;
  std::uint64_t id = 0;
  bool operator==(const Opaque&) const = default;
};

struct Term {
  std::variant<std::int64_t, std::uint64_t, double, Atom, Binary, List, Tuple, Map, BigInteger, Opaque> value =
      std::int64_t{0};

  static Term integer(std::int64_t i) { return {i}; }
  /// A non-negative integer; kept as int64 where it fits, so that equal integers are equal terms.
  static Term natural(std::uint64_t u);
  static Term real(double d) { return {d}; }
  static Term atom(std::string name) { return {Atom{std::move(name)}}; }
  static Term binary(std::string bytes) { return {Binary{std::move(bytes)}}; }
  static Term list(std::vector<Term> items) { return {List{std::move(items), true}}; }
  static Term tuple(std::vector<Term> items) { return {Tuple{std::move(items)}}; }
  static Term map(std::vector<std::pair<Term, Term>> entries) { return {Map{std::move(entries)}}; }

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool operator==(const Term&) const = default;
};

/// "the atom 'add'", "the integer 3", "a list of 2": for messages.
std::string describe(const Term& term);

/// Reads one term of the external form, with its leading version byte. Errors: `parse`, with the position.
Result<Term> decode_term(std::span<const std::byte> bytes);
Result<Term> decode_term(std::string_view bytes);

/// The external form. Opaque terms and integers beyond 64 bits cannot be written: an error.
Result<std::string> encode_term(const Term& term);

}  // namespace reprise::wire
