// Functions of float32 around the exponential, vectorised. tests/native/tile_math_test.cpp measures them.
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_math.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/tile_vectors.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

struct Exp {
  static HWY_INLINE V of(V x) { return exp_of(x, hn::Zero(d), 0); }
};

struct Sigmoid {
  static HWY_INLINE V of(V x) { return hn::Div(set(1), hn::Add(set(1), Exp::of(hn::Neg(x)))); }
};
struct Swiglu {
  static HWY_INLINE V of(V gate, V up) { return hn::Mul(hn::Mul(gate, Sigmoid::of(gate)), up); }
};

// 2^n expm1(r) + 2^n - 1, all halved until the end: 2^128 would overflow.
struct Expm1 {
  static HWY_INLINE V of(V x) {
    const V held = clamp(x, -20, 89);
    const V magic = set(0x1.8p23);
    const V shifted = hn::MulAdd(held, set(1.4426950408889634), magic);
    const V n = hn::Sub(shifted, magic);
    const V r = hn::NegMulAdd(n, set(-0.00021219444005469057), hn::NegMulAdd(n, set(0.693359375), held));
    const V less = hn::MulAdd(hn::Mul(r, r), polynomial(mlx_backend::kExp32, r), r);
    const VI exponent = hn::Add(hn::BitCast(di, shifted), hn::Set(di, 126 - 0x4b400000));
    const V power = hn::BitCast(d, hn::ShiftLeft<23>(exponent));
    const V half = hn::MulAdd(power, less, hn::Sub(power, set(0.5)));
    return hn::CopySign(hn::Add(half, half), x);
  }
};

struct Log {
  static HWY_INLINE V of(V x) { return log_of(x, hn::Zero(d)); }
};
struct Log1p {
  static HWY_INLINE V of(V x) { return log1p_of(x); }
};

// A quotient of polynomials in x^2 times x; relative error 2.1e-8 up to 9.02, from where on the result is 1.
struct Tanh {
  static HWY_INLINE V of(V x) {
    constexpr double kTop[] = {0.999999979027218, 0.13379713955264647, 0.0034940298150020034, 2.0583403867839063e-05,
                               1.3318967982670442e-08};
    constexpr double kBottom[] = {1.0, 0.46713029199044975, 0.025871055165238008, 0.00032830850950875504,
                                  7.761976102320749e-07};
    const V held = clamp(x, -9.02, 9.02);
    const V z = hn::Mul(held, held);
    const V ratio = hn::Div(hn::Mul(held, polynomial(kTop, z)), polynomial(kBottom, z));
    return clamp(ratio, -1, 1);
  }
};

struct Sinh {
  static HWY_INLINE V of(V x) {
    constexpr double kSinh[] = {1.66667160211E-1, 8.33028376239E-3, 2.03721912945E-4};  // Cephes
    const V a = hn::Abs(x);
    const V half = exp_of(a, hn::Zero(d), -1);
    const V far = hn::CopySign(hn::Sub(half, hn::Div(set(0.25), half)), x);
    const V z = hn::Mul(x, x);
    const V near = hn::MulAdd(hn::Mul(polynomial(kSinh, z), z), x, x);
    return hn::IfThenElse(hn::Lt(a, set(1)), near, far);
  }
};
struct Cosh {
  static HWY_INLINE V of(V x) {
    const V half = exp_of(hn::Abs(x), hn::Zero(d), -1);
    return hn::Add(half, hn::Div(set(0.25), half));
  }
};

constexpr double kLog2 = 0.69314718055994531;
// From here on x^2 + 1 is x^2, and twice x is the argument of the logarithm.
constexpr double kHuge = 1e10;

struct Asinh {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask huge = hn::Gt(a, set(kHuge));
    const V square = hn::Mul(a, a);
    const V rest = hn::Div(square, hn::Add(set(1), hn::Sqrt(hn::Add(square, set(1)))));
    const V log = log1p_of(hn::IfThenElse(huge, a, hn::Add(a, rest)));
    return hn::CopySign(hn::Add(log, hn::IfThenElseZero(huge, set(kLog2))), x);
  }
};
struct Acosh {
  static HWY_INLINE V of(V x) {
    const Mask huge = hn::Gt(x, set(kHuge));
    const V t = hn::Sub(x, set(1));
    const V root = hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t)));
    const V log = log1p_of(hn::IfThenElse(huge, t, hn::Add(t, root)));
    const V result = hn::Add(log, hn::IfThenElseZero(huge, set(kLog2)));
    return hn::IfThenElse(hn::Lt(x, set(1)), not_a_number(), result);
  }
};
struct Atanh {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const V log = log1p_of(hn::Div(hn::Add(a, a), hn::Sub(set(1), a)));
    return hn::CopySign(hn::Mul(set(0.5), log), x);
  }
};

// As tanh; relative error 2e-8 up to 3.93, from where on the result is 1.
struct Erf {
  static HWY_INLINE V of(V x) {
    constexpr double kTop[] = {1.1283791453679706,   0.1907830757644083,    0.05279017693695357,
                               0.003779574572913282, 0.0002848074646220866, 2.0419718193316228e-06};
    constexpr double kBottom[] = {1.0,
                                  0.502409818381053,
                                  0.11425720200625473,
                                  0.014997367896493776,
                                  0.0011652036596614007,
                                  3.800402620643005e-05};
    const V held = clamp(x, -3.93, 3.93);
    const V z = hn::Mul(held, held);
    const V ratio = hn::Div(hn::Mul(held, polynomial(kTop, z)), polynomial(kBottom, z));
    return clamp(ratio, -1, 1);
  }
};

// exp(-x x) times a polynomial. The square rounds, and the exponential magnifies that by it: with `high` cut to half
// the digits, its square is exact, and (x - high)(x + high), the rest, small.
struct Erfc {
  static HWY_INLINE V of(V x) {
    const V a = hn::Min(set(11), hn::Abs(x));
    const V high = hn::BitCast(d, hn::And(hn::BitCast(di, a), hn::Set(di, static_cast<std::int32_t>(0xfffff000))));
    const V low = hn::Mul(hn::Sub(high, a), hn::Add(high, a));
    const V gauss = exp_of(hn::Neg(hn::Mul(high, high)), low, 0);
    const V u = hn::Div(hn::Sub(a, set(3.75)), hn::Add(a, set(3.75)));
    const V positive = hn::Div(hn::Mul(gauss, polynomial(mlx_backend::kErfc32, u)), hn::MulAdd(a, set(2), set(1)));
    const V result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(set(2), positive), positive);
    return hn::IfThenElse(hn::Eq(x, x), result, x);
  }
};

// Giles, "Approximating the erfinv function", 2012.
struct ErfInv {
  static HWY_INLINE V of(V x) {
    constexpr double kCentre[] = {1.50140941,      0.246640727,    -0.00417768164, -0.00125372503, 0.00021858087,
                                  -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
    constexpr double kTail[] = {2.83297682,     1.00167406,    0.00943887047,  -0.0076224613,  0.00573950773,
                                -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
    const V w = hn::Neg(log_of(hn::Mul(hn::Sub(set(1), x), hn::Add(set(1), x)), hn::Zero(d)));
    const V centre = polynomial(kCentre, hn::Sub(w, set(2.5)));
    const V tail = polynomial(kTail, hn::Sub(hn::Sqrt(w), set(3)));
    const V inside = hn::Mul(hn::IfThenElse(hn::Lt(w, set(5)), centre, tail), x);
    return hn::IfThenElse(hn::Eq(hn::Abs(x), set(1)), hn::CopySign(infinity(), x), inside);
  }
};

// The power of floats in double precision: the logarithm has digits to spare for any exponent that does not overflow.
struct PowerOfPositive {
  static HWY_INLINE V64 of(V64 a, V64 b) {
    const hn::RebindToUnsigned<D64> du;
    constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
    // 2 atanh(s) / s in s^2.
    constexpr double kAtanh[] = {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13};
    const auto bits = hn::BitCast(du, a);
    const auto biased = hn::ShiftRight<52>(hn::Add(bits, hn::Set(du, 0x3ff0000000000000 - kRootHalf)));
    const V64 e = hn::Sub(hn::BitCast(d64, hn::Or(biased, hn::Set(du, 0x4330000000000000))), set64(0x1p52 + 1023));
    const V64 m = hn::BitCast(d64, hn::Sub(bits, hn::ShiftLeft<52>(hn::Sub(biased, hn::Set(du, std::uint64_t{1023})))));
    const V64 s = hn::Div(hn::Sub(m, set64(1)), hn::Add(m, set64(1)));
    const V64 log = hn::Mul(s, polynomial64(kAtanh, hn::Mul(s, s)));
    const V64 t = hn::Mul(b, hn::MulAdd(log, set64(1.4426950408889634), e));
    const V64 held = hn::Min(set64(160), hn::Max(set64(-200), t));
    const V64 magic = set64(0x1.8p52);
    const V64 shifted = hn::Add(held, magic);
    const V64 r = hn::Mul(hn::Sub(held, hn::Sub(shifted, magic)), set64(0.69314718055994531));
    const V64 fraction = hn::Add(set64(1), hn::MulAdd(hn::Mul(r, r), polynomial64(mlx_backend::kExp32, r), r));
    const auto power = hn::ShiftLeft<52>(hn::Add(hn::BitCast(du, shifted), hn::Set(du, std::uint64_t{1023})));
    return hn::Mul(fraction, hn::BitCast(d64, power));
  }
};

struct Pow {
  static HWY_INLINE V of(V a, V b) {
    const V zero = hn::Zero(d);
    const V positive = in_double<PowerOfPositive>(hn::Abs(a), b);
    const V at_zero = hn::IfThenElse(hn::Gt(b, zero), zero, hn::IfThenElse(hn::Lt(b, zero), infinity(), set(1)));
    const V size = hn::IfThenElse(hn::Eq(a, zero), at_zero, positive);
    // A negative base needs an integer exponent; an odd one keeps the sign.
    const V half = hn::Mul(b, set(0.5));
    const Mask integer = hn::Eq(hn::Trunc(b), b);
    const Mask odd = hn::And(integer, hn::Ne(hn::Trunc(half), half));
    const V signed_size = hn::IfThenElse(odd, hn::CopySign(size, a), size);
    const V result = hn::IfThenElse(hn::And(hn::Lt(a, zero), hn::Not(integer)), not_a_number(), signed_size);
    // The library makes signalling NaN of 1 and of x^0.
    const Mask special = hn::Not(hn::And(hn::Lt(hn::Abs(a), infinity()), hn::Lt(hn::Abs(b), infinity())));
    if (HWY_LIKELY(hn::AllFalse(d, special))) return result;
    return patch2([](float x, float y) { return y == 0 || x == 1 ? 1.0F : std::pow(x, y); }, a, b, special, result);
  }
};

// Halley's iteration from an estimate of a few percent, a third of the bits.
struct Cbrt {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask large = hn::Gt(a, set(1));
    const V up = hn::IfThenElse(large, set(0x1p-24), set(0x1p24));
    const V back = hn::IfThenElse(large, set(0x1p8), set(0x1p-8));
    const Mask itself = hn::Or(hn::Eq(a, hn::Zero(d)), hn::Not(hn::Lt(a, infinity())));
    const V scaled = hn::IfThenElse(itself, set(1), hn::Mul(a, up));
    const V third = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, scaled)), set(1.0 / 3));
    V t = hn::BitCast(d, hn::Add(hn::ConvertTo(di, third), hn::Set(di, 0x2a514067)));
    for (int i = 0; i < 2; ++i) {
      const V cube = hn::Mul(hn::Mul(t, t), t);
      t = hn::MulAdd(t, hn::Div(hn::Sub(scaled, cube), hn::MulAdd(cube, set(2), scaled)), t);
    }
    return hn::IfThenElse(itself, x, hn::CopySign(hn::Mul(t, back), x));
  }
};

// The compiler does not vectorise this one.
struct Clip {
  static HWY_INLINE V of(V x, V low, V high) {
    const V raised = hn::IfThenElse(hn::Or(hn::Gt(x, low), hn::IsNaN(x)), x, low);
    return hn::IfThenElse(hn::Or(hn::Lt(raised, high), hn::IsNaN(raised)), raised, high);
  }
};

constexpr Entry kFunctions[] = {
    {"clip", vector3<Clip>},
    {"exp", vector1<Exp>},
    {"expm1", vector1<Expm1>},
    {"log", vector1<Log>},
    {"log1p", vector1<Log1p>},
    {"sigmoid", vector1<Sigmoid>},
    {"fast_swiglu", vector2<Swiglu>},
    {"tanh", vector1<Tanh>},
    {"sinh", vector1<Sinh>},
    {"cosh", vector1<Cosh>},
    {"asinh", vector1<Asinh>},
    {"acosh", vector1<Acosh>},
    {"atanh", vector1<Atanh>},
    {"erf", vector1<Erf>},
    {"erfc", vector1<Erfc>},
    {"erf_inv", vector1<ErfInv>},
    {"pow", vector2<Pow>},
    {"cbrt", vector1<Cbrt>},
};

}  // namespace

TileFn find_math(std::string_view op, DType dtype) {
  return dtype == DType::float32 ? find_in(kFunctions, op) : nullptr;
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_math);
TileFn math_tile(std::string_view op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_math)(op, dtype); }

}  // namespace reprise::native
#endif
