#include "io/wire/term.hpp"

#include <bit>
#include <limits>

#include "base/format.hpp"

namespace reprise::wire {
namespace {

/// A program of the deepest loops stays well below.
constexpr int kMaxDepth = 400;

// Tags of the external term format, version 131.
constexpr std::uint8_t kVersion = 131;
enum Tag : std::uint8_t {
  kNewFloat = 70,
  kSmallInteger = 97,
  kInteger = 98,
  kFloat = 99,
  kAtom = 100,
  kSmallTuple = 104,
  kLargeTuple = 105,
  kNil = 106,
  kString = 107,
  kList = 108,
  kBinary = 109,
  kSmallBig = 110,
  kLargeBig = 111,
  kSmallAtom = 115,
  kMap = 116,
  kAtomUtf8 = 118,
  kSmallAtomUtf8 = 119,
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  Result<Term> run() {
    REPRISE_ASSIGN(const std::uint64_t version, number(1));
    if (version != kVersion) return fail(fmt::format("version {}; wanted {}", version, kVersion));
    REPRISE_ASSIGN(Term term, this->term(0));
    if (at_ != bytes_.size()) return fail(fmt::format("{} bytes follow the term", bytes_.size() - at_));
    return term;
  }

 private:
  Error fail(std::string_view what) const { return make_error(ErrorCode::parse, "term, byte {}: {}", at_, what); }

  std::size_t remaining() const { return bytes_.size() - at_; }

  Result<std::string_view> take(std::uint64_t n) {
    if (n > remaining()) return fail(fmt::format("{} bytes wanted, {} are left", n, remaining()));
    const std::string_view out = bytes_.substr(at_, n);
    at_ += n;
    return out;
  }

  Result<std::uint64_t> number(std::size_t bytes) {
    REPRISE_ASSIGN(const std::string_view raw, take(bytes));
    std::uint64_t value = 0;
    for (const char c : raw) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }

  // A count of things that take `least` bytes each or more.
  Result<std::uint64_t> count(std::size_t bytes, std::size_t least) {
    REPRISE_ASSIGN(const std::uint64_t n, number(bytes));
    if (n > remaining() / least)
      return fail(fmt::format("{} elements said to follow, {} bytes are left", n, remaining()));
    return n;
  }

  Result<std::vector<Term>> items(std::uint64_t n, int depth) {
    std::vector<Term> out;
    for (std::uint64_t i = 0; i < n; ++i) {
      REPRISE_ASSIGN(Term item, term(depth + 1));
      out.push_back(std::move(item));
    }
    return out;
  }

  Result<Term> atom(std::size_t length_bytes) {
    REPRISE_ASSIGN(const std::uint64_t n, number(length_bytes));
    REPRISE_ASSIGN(const std::string_view name, take(n));
    return Term::atom(std::string(name));
  }

  Result<Term> big(std::size_t length_bytes) {
    REPRISE_ASSIGN(const std::uint64_t n, number(length_bytes));
    REPRISE_ASSIGN(const std::uint64_t sign, number(1));
    REPRISE_ASSIGN(const std::string_view digits, take(n));
    std::size_t used = digits.size();
    while (used > 0 && digits[used - 1] == 0) --used;
    if (used > 8) return Term{BigInteger{used, sign != 0}};
    std::uint64_t value = 0;
    for (std::size_t i = used; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(digits[i]);
    if (sign == 0) return Term::natural(value);
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 63;
    if (value > kLeast) return Term{BigInteger{8, true}};
    return Term::integer(static_cast<std::int64_t>(~value + 1));
  }

  Result<Term> list(int depth) {
    REPRISE_ASSIGN(const std::uint64_t n, count(4, 1));
    REPRISE_ASSIGN(std::vector<Term> out, items(n, depth));
    REPRISE_ASSIGN(Term tail, term(depth + 1));
    if (const List* end = tail.as<List>(); end && end->items.empty()) return Term::list(std::move(out));
    out.push_back(std::move(tail));
    return Term{List{std::move(out), false}};
  }

  Result<Term> map(int depth) {
    REPRISE_ASSIGN(const std::uint64_t n, count(4, 2));
    Map out;
    for (std::uint64_t i = 0; i < n; ++i) {
      REPRISE_ASSIGN(Term key, term(depth + 1));
      REPRISE_ASSIGN(Term value, term(depth + 1));
      out.entries.emplace_back(std::move(key), std::move(value));
    }
    return Term{std::move(out)};
  }

  Result<Term> term(int depth) {
    if (depth > kMaxDepth) return fail(fmt::format("terms nest deeper than {}", kMaxDepth));
    REPRISE_ASSIGN(const std::uint64_t tag, number(1));
    switch (tag) {
      case kSmallInteger: {
        REPRISE_ASSIGN(const std::uint64_t i, number(1));
        return Term::natural(i);
      }
      case kInteger: {
        REPRISE_ASSIGN(const std::uint64_t i, number(4));
        return Term::integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(i)));
      }
      case kNewFloat: {
        REPRISE_ASSIGN(const std::uint64_t bits, number(8));
        return Term::real(std::bit_cast<double>(bits));
      }
      case kSmallBig: return big(1);
      case kLargeBig: return big(4);
      case kSmallAtom:
      case kSmallAtomUtf8: return atom(1);
      case kAtom:
      case kAtomUtf8: return atom(2);
      case kBinary: {
        REPRISE_ASSIGN(const std::uint64_t n, number(4));
        REPRISE_ASSIGN(const std::string_view raw, take(n));
        return Term::binary(std::string(raw));
      }
      case kString: {
        // A list of small integers, packed.
        REPRISE_ASSIGN(const std::uint64_t n, number(2));
        REPRISE_ASSIGN(const std::string_view raw, take(n));
        std::vector<Term> out;
        for (const char c : raw) out.push_back(Term::natural(static_cast<std::uint8_t>(c)));
        return Term::list(std::move(out));
      }
      case kNil: return Term::list({});
      case kList: return list(depth);
      case kSmallTuple:
      case kLargeTuple: {
        REPRISE_ASSIGN(const std::uint64_t n, count(tag == kSmallTuple ? 1 : 4, 1));
        REPRISE_ASSIGN(std::vector<Term> out, items(n, depth));
        return Term::tuple(std::move(out));
      }
      case kMap: return map(depth);
      default: return fail(fmt::format("tag {} is no kind of term that a program has", tag));
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

class Encoder {
 public:
  Status term(const Term& t) {
    return std::visit([this](const auto& v) { return write(v); }, t.value);
  }

  std::string out{static_cast<char>(kVersion)};

 private:
  void byte(std::uint8_t b) { out.push_back(static_cast<char>(b)); }
  void number(std::uint64_t value, int bytes) {
    for (int i = bytes; i-- > 0;) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }

  Status write(std::int64_t i) {
    if (i >= 0 && i < 256) {
      byte(kSmallInteger);
      number(static_cast<std::uint64_t>(i), 1);
    } else if (i >= std::numeric_limits<std::int32_t>::min() && i <= std::numeric_limits<std::int32_t>::max()) {
      byte(kInteger);
      number(static_cast<std::uint32_t>(i), 4);
    } else {
      big(i < 0, i < 0 ? ~static_cast<std::uint64_t>(i) + 1 : static_cast<std::uint64_t>(i));
    }
    return {};
  }
  Status write(std::uint64_t u) {
    big(false, u);
    return {};
  }
  void big(bool negative, std::uint64_t magnitude) {
    byte(kSmallBig);
    byte(8);
    byte(negative ? 1 : 0);
    for (int i = 0; i < 8; ++i) byte(static_cast<std::uint8_t>(magnitude >> (8 * i)));
  }
  Status write(double d) {
    byte(kNewFloat);
    number(std::bit_cast<std::uint64_t>(d), 8);
    return {};
  }
  Status write(const Atom& a) {
    if (a.name.size() > 65535) return make_error(ErrorCode::invalid_argument, "an atom has {} bytes", a.name.size());
    byte(a.name.size() < 256 ? kSmallAtomUtf8 : kAtomUtf8);
    number(a.name.size(), a.name.size() < 256 ? 1 : 2);
    out += a.name;
    return {};
  }
  Status write(const Binary& b) {
    REPRISE_RETURN_IF_ERROR(check_count(b.bytes.size()));
    byte(kBinary);
    number(b.bytes.size(), 4);
    out += b.bytes;
    return {};
  }
  Status write(const List& l) {
    REPRISE_RETURN_IF_ERROR(check_count(l.items.size()));
    const std::size_t n = l.proper ? l.items.size() : l.items.size() - 1;
    if (n > 0) {
      byte(kList);
      number(n, 4);
    }
    for (const Term& t : l.items) REPRISE_RETURN_IF_ERROR(term(t));
    if (l.proper) byte(kNil);
    return {};
  }
  Status write(const Tuple& t) {
    REPRISE_RETURN_IF_ERROR(check_count(t.items.size()));
    byte(kLargeTuple);
    number(t.items.size(), 4);
    for (const Term& item : t.items) REPRISE_RETURN_IF_ERROR(term(item));
    return {};
  }
  Status write(const Map& m) {
    REPRISE_RETURN_IF_ERROR(check_count(m.entries.size()));
    byte(kMap);
    number(m.entries.size(), 4);
    for (const auto& [key, value] : m.entries) {
      REPRISE_RETURN_IF_ERROR(term(key));
      REPRISE_RETURN_IF_ERROR(term(value));
    }
    return {};
  }
  Status write(const BigInteger&) { return Error(ErrorCode::invalid_argument, "an integer has more than 64 bits"); }
  Status write(const Opaque& o) {
    return make_error(ErrorCode::invalid_argument, "a {} has no external form here", o.kind);
  }

  static Status check_count(std::size_t n) {
    if (n <= std::numeric_limits<std::uint32_t>::max()) return {};
    return make_error(ErrorCode::invalid_argument, "{} elements do not fit the external form", n);
  }
};

}  // namespace

Term Term::natural(std::uint64_t u) {
  if (u <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return integer(static_cast<std::int64_t>(u));
  }
  return {u};
}

std::string describe(const Term& term) {
  struct Visitor {
    std::string operator()(std::int64_t i) const { return fmt::format("the integer {}", i); }
    std::string operator()(std::uint64_t u) const { return fmt::format("the integer {}", u); }
    std::string operator()(double d) const { return fmt::format("the float {}", d); }
    std::string operator()(const Atom& a) const { return fmt::format("the atom '{}'", a.name.substr(0, 64)); }
    std::string operator()(const Binary& b) const { return fmt::format("a binary of {} bytes", b.bytes.size()); }
    std::string operator()(const List& l) const {
      return l.proper ? fmt::format("a list of {}", l.items.size()) : "an improper list";
    }
    std::string operator()(const Tuple& t) const { return fmt::format("a tuple of {}", t.items.size()); }
    std::string operator()(const Map& m) const { return fmt::format("a map of {}", m.entries.size()); }
    std::string operator()(const BigInteger& b) const { return fmt::format("an integer of {} bytes", b.bytes); }
    std::string operator()(const Opaque& o) const { return fmt::format("a {}", o.kind); }
  };
  return std::visit(Visitor{}, term.value);
}

Result<Term> decode_term(std::string_view bytes) { return Decoder(bytes).run(); }

Result<Term> decode_term(std::span<const std::byte> bytes) {
  return decode_term(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::string> encode_term(const Term& term) {
  Encoder encoder;
  REPRISE_RETURN_IF_ERROR(encoder.term(term));
  return std::move(encoder.out);
}

}  // namespace reprise::wire
