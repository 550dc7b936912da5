// Programs from and to Erlang terms (docs/spec/program.md, section 8).
#include "io/wire/wire.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <random>

#include "program/verify.hpp"
#include "random_program.hpp"
#include "reprise/text.hpp"

namespace reprise::wire {
namespace {

Term a(std::string name) { return Term::atom(std::move(name)); }
Term i(std::int64_t value) { return Term::integer(value); }
Term ref(std::string kind, std::int64_t index) { return Term::tuple({a(std::move(kind)), i(index)}); }

Term instruction(std::string op, std::vector<Term> operands, std::vector<Term> attrs = {},
                 std::vector<Term> subprograms = {}) {
  return Term::map({{a("op"), a(std::move(op))},
                    {a("operands"), Term::list(std::move(operands))},
                    {a("attrs"), Term::list(std::move(attrs))},
                    {a("subprograms"), Term::list(std::move(subprograms))}});
}

Term subprogram(std::vector<Term> instructions, std::vector<Term> outputs) {
  return Term::map(
      {{a("instructions"), Term::list(std::move(instructions))}, {a("outputs"), Term::list(std::move(outputs))}});
}

Term program(std::int64_t inputs, std::vector<Term> constants, std::vector<Term> instructions,
             std::vector<Term> outputs, std::int64_t real, std::vector<Term> captures = {}) {
  return Term::map({{a("__struct__"), a("Elixir.EMLX.Native.Program")},
                    {a("num_inputs"), i(inputs)},
                    {a("captures"), Term::list(std::move(captures))},
                    {a("constants"), Term::list(std::move(constants))},
                    {a("instructions"), Term::list(std::move(instructions))},
                    {a("outputs"), Term::list(std::move(outputs))},
                    {a("num_real_outputs"), i(real)},
                    {a("extra"), i(1)}});
}

Result<Program> decoded(const Term& term) { return decode_program(term, captures_by_index({})); }
std::string message(const Term& term) { return decoded(term).error().message(); }

// The two terms that the contract spells out, and the same programs as text and by the builder.
TEST(Wire, TheContractsExamples) {
  const Program add_one =
      decoded(program(1, {Term::tuple({Term::real(1.0), a("float32")})},
                      {instruction("add", {ref("input", 0), ref("const", 0)})}, {ref("result", 0)}, 1))
          .value();
  EXPECT_EQ(add_one,
            parse_program("reprise 1\ninputs 1\nconst0 = 1.0 : f32\n%0 = add in0, const0\nreturn %0\n").value());
  Builder b;
  const Value x = b.input();
  EXPECT_EQ(add_one, b.build({x + b.constant(1.0f)}).value());

  const auto int32 = [](double value) { return Term::tuple({Term::real(value), a("int32")}); };
  const Program loop =
      decoded(program(2, {int32(1), int32(10), int32(2)},
                      {instruction(
                          "while", {ref("input", 0), ref("input", 1)}, {},
                          {subprogram({instruction("less", {ref("carry", 0), ref("const", 1)})}, {ref("result", 0)}),
                           subprogram({instruction("add", {ref("carry", 0), ref("const", 0)}),
                                       instruction("multiply", {ref("carry", 1), ref("const", 2)})},
                                      {ref("result", 0), ref("result", 1)})})},
                      {ref("result", 0), ref("result", 1)}, 2))
          .value();
  EXPECT_TRUE(verify(loop).ok());
  EXPECT_EQ(loop, parse_program("reprise 1\ninputs 2\nconst0 = 1.0 : s32\nconst1 = 10.0 : s32\nconst2 = 2.0 : s32\n"
                                "%0, %1 = while in0, in1 {\ncond {\n%0 = less carry0, const1\nreturn %0\n}\n"
                                "body {\n%0 = add carry0, const0\n%1 = multiply carry1, const2\nreturn %0, %1\n}\n}\n"
                                "return %0, %1\n")
                      .value());
}

TEST(Wire, ConstantsBeyondErlangsFloats) {
  const auto one = [](Term value, std::string dtype) {
    return decoded(program(0, {Term::tuple({std::move(value), a(std::move(dtype))})}, {}, {}, 0)).value()->constants[0];
  };
  EXPECT_EQ(one(Term::natural(UINT64_MAX), "uint64"), Constant::of(UINT64_MAX, DType::uint64));
  EXPECT_EQ(one(i(9007199254740993), "int64"), Constant::of(std::int64_t{9007199254740993}, DType::int64));
  EXPECT_EQ(one(a("infinity"), "float32"), Constant::of(INFINITY, DType::float32));
  EXPECT_EQ(one(a("neg_infinity"), "float16"), Constant::of(-INFINITY, DType::float16));
  EXPECT_TRUE(std::isnan(std::get<double>(one(a("nan"), "float32").value)));
  EXPECT_EQ(one(Term::tuple({Term::real(1), a("infinity")}), "complex64"),
            Constant::of(std::complex<double>(1, INFINITY), DType::complex64));
}

TEST(Wire, AttributesAreIntegersNamesAndBinaries) {
  const Program p = decoded(program(1, {},
                                    {instruction("fast_rms_norm", {ref("input", 0), ref("input", 0)},
                                                 {i(4532020583610935537), a("float32"), Term::binary("x")})},
                                    {}, 0))
                        .value();
  EXPECT_EQ(p->instructions[0].attrs,
            (std::vector<Attr>{std::int64_t{4532020583610935537}, Name{"float32"}, Bytes{"x"}}));
}

TEST(Wire, ErrorsNameThePlace) {
  EXPECT_EQ(message(i(1)), "decode failed: program: seen the integer 1, wanted a map");
  EXPECT_EQ(message(Term::map({})), "decode failed: program: no key 'num_inputs'");
  EXPECT_EQ(message(program(std::int64_t{1} << 31, {}, {}, {}, 0)),
            "decode failed: program.num_inputs: seen the integer 2147483648, wanted an integer of 32 bits");
  EXPECT_EQ(message(program(0, {i(1)}, {}, {}, 0)),
            "decode failed: program.constants[0]: seen the integer 1, wanted {Value, Dtype}");
  EXPECT_EQ(message(program(0, {Term::tuple({Term::real(1), a("float99")})}, {}, {}, 0)),
            "decode failed: program.constants[0]: Unknown dtype: float99");
  EXPECT_EQ(message(program(0, {}, {instruction("add", {ref("input", 0), ref("magic", 0)})}, {}, 0)),
            "decode failed: program.instructions[0].operands[1]: unknown ref kind the atom 'magic'");
  EXPECT_EQ(
      message(program(0, {}, {instruction("add", {Term::tuple({a("input"), Term::natural(UINT64_MAX)})})}, {}, 0)),
      "decode failed: program.instructions[0].operands[0]: seen the integer 18446744073709551615, wanted an integer "
      "of 64 bits as the reference's index");
  EXPECT_EQ(
      message(program(0, {}, {instruction("add", {}, {Term::real(1.5)})}, {}, 0)),
      "decode failed: program.instructions[0].attrs[0]: seen the float 1.5, wanted an integer of 64 bits, a binary or "
      "an atom");
  EXPECT_EQ(message(program(0, {}, {Term{List{{i(1), i(2)}, false}}}, {}, 0)),
            "decode failed: program.instructions[0]: seen an improper list, wanted a map");
  EXPECT_EQ(message(program(0, {}, {}, {}, 0, {a("no_tensor")})),
            "decode failed: program.captures[0]: tensor param: seen the atom 'no_tensor', wanted {capture, Index}");
  Term nest = subprogram({}, {});
  for (int d = 0; d < 70; ++d) nest = subprogram({instruction("while", {}, {}, {nest})}, {});
  EXPECT_EQ(message(program(0, {}, {instruction("while", {}, {}, {nest})}, {}, 0)),
            "decode failed: subprograms nest deeper than 64");
}

TEST(Wire, CapturesByIndex) {
  const std::vector<Capture> captures{make_capture(mlx::core::array({1.0f, 2.0f}), "w").value()};
  const Program given =
      parse_program("reprise 1\ninputs 1\ncap0 = \"w\" : f32[2]\n%0 = add in0, cap0\nreturn %0\n", captures).value();
  const Term term = encode_program(given, capture_index).value();
  EXPECT_EQ(decode_program(term, captures_by_index(captures)).value(), given);
  EXPECT_FALSE(decode_program(term, captures_by_index({})));
}

// Whatever has a wire form keeps it, and damaged bytes are an error or another program, never worse.
TEST(Wire, RandomProgramsAndDamage) {
  constexpr std::uint64_t kSeed = 20261130;
  RandomProgram random(kSeed);
  std::mt19937_64 engine(kSeed);
  int encoded = 0;
  for (int n = 0; n < 2000; ++n) {
    const Program made(random.next());
    const auto term = encode_program(made, capture_index);
    if (!term) continue;  // a reference of a kind that does not exist
    ++encoded;
    const std::string form = encode_term(*term).value();
    const auto again = decode_program(decode_term(form).value(), captures_by_index(made->captures));
    if (again) {
      EXPECT_EQ(encode_program(*again, capture_index).value(), *term) << "seed " << kSeed << ", program " << n;
    }
    std::string damaged = form;
    for (int k = 0; k < 3; ++k) damaged[engine() % damaged.size()] = static_cast<char>(engine());
    if (const auto other = decode_term(damaged))
      static_cast<void>(decode_program(*other, captures_by_index(made->captures)));
  }
  EXPECT_GT(encoded, 500);
}

}  // namespace
}  // namespace reprise::wire
