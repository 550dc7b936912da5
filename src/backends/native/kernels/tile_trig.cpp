// Functions of float32 around the circle, and the remainder, vectorised.
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_trig.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/tile_vectors.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

constexpr double kPi = 3.14159265358979324;

// Where x - n pi/2 still has all digits of a float: n times the first part of pi/2 below, 33 bits, is exact.
constexpr double kMaxReduced = 1e6;

// The multiple of pi/2 next to x, and what is left.
struct Quadrant {
  static HWY_INLINE V64 of(V64 x) {
    const V64 magic = set64(0x1.8p52);
    return hn::Sub(hn::MulAdd(x, set64(2 / kPi), magic), magic);
  }
};
struct Reduced {
  static HWY_INLINE V64 of(V64 x) {
    const V64 n = Quadrant::of(x);
    const V64 high = hn::NegMulAdd(n, set64(0x1.921fb544p+0), x);
    return hn::NegMulAdd(n, set64(6.0771005065061922e-11), high);
  }
};

struct Circle {
  V sine, cosine;  // of the rest, at most pi/4
  VI quadrant;

  // Of a magnitude up to kMaxReduced; Cephes' polynomials.
  explicit HWY_INLINE Circle(V a) {
    constexpr double kSine[] = {-1.6666654611E-1, 8.3321608736E-3, -1.9515295891E-4};
    constexpr double kCosine[] = {4.166664568298827E-2, -1.388731625493765E-3, 2.443315711809948E-5};
    const V r = in_double<Reduced>(a);
    quadrant = hn::ConvertTo(di, in_double<Quadrant>(a));
    const V z = hn::Mul(r, r);
    sine = hn::MulAdd(hn::Mul(polynomial(kSine, z), z), r, r);
    cosine = hn::MulAdd(hn::Mul(polynomial(kCosine, z), z), z, hn::NegMulAdd(set(0.5), z, set(1)));
  }

  HWY_INLINE Mask odd() const { return hn::RebindMask(d, hn::Ne(hn::And(quadrant, hn::Set(di, 1)), hn::Zero(di))); }
  // The sign bit where bit 1 of the quadrant is set.
  static HWY_INLINE V sign(VI q) { return hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2)))); }
};

HWY_INLINE Mask too_large(V a) { return hn::Not(hn::Le(a, set(kMaxReduced))); }
HWY_INLINE V sign_of(V x) { return hn::And(x, hn::BitCast(d, hn::Set(di, static_cast<std::int32_t>(0x80000000)))); }

struct Sin {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask special = too_large(a);
    const Circle c(hn::IfThenZeroElse(special, a));
    const V size = hn::IfThenElse(c.odd(), c.cosine, c.sine);
    const V result = hn::Xor(hn::Xor(size, Circle::sign(c.quadrant)), sign_of(x));
    if (HWY_LIKELY(hn::AllFalse(d, special))) return result;
    return patch1([](float v) { return std::sin(v); }, x, special, result);
  }
};
struct Cos {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask special = too_large(a);
    const Circle c(hn::IfThenZeroElse(special, a));
    const V size = hn::IfThenElse(c.odd(), c.sine, c.cosine);
    const V result = hn::Xor(size, Circle::sign(hn::Add(c.quadrant, hn::Set(di, 1))));
    if (HWY_LIKELY(hn::AllFalse(d, special))) return result;
    return patch1([](float v) { return std::cos(v); }, x, special, result);
  }
};
struct Tan {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask special = too_large(a);
    const Circle c(hn::IfThenZeroElse(special, a));
    const Mask odd = c.odd();
    const V top = hn::IfThenElse(odd, hn::Neg(c.cosine), c.sine);
    const V result = hn::Xor(hn::Div(top, hn::IfThenElse(odd, c.sine, c.cosine)), sign_of(x));
    if (HWY_LIKELY(hn::AllFalse(d, special))) return result;
    return patch1([](float v) { return std::tan(v); }, x, special, result);
  }
};

// asin(x) for |x| <= 1/2. Cephes.
HWY_INLINE V asin_of_small(V x) {
  constexpr double kAsin[] = {1.6666752422E-1, 7.4953002686E-2, 4.5470025998E-2, 2.4181311049E-2, 4.2163199048E-2};
  const V z = hn::Mul(x, x);
  return hn::MulAdd(hn::Mul(polynomial(kAsin, z), z), x, x);
}

struct Asin {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask large = hn::Gt(a, set(0.5));
    const V root = hn::Sqrt(hn::Mul(set(0.5), hn::Sub(set(1), a)));
    const V part = asin_of_small(hn::IfThenElse(hn::Le(a, set(0.5)), a, root));
    return hn::CopySign(hn::IfThenElse(large, hn::NegMulAdd(set(2), part, set(kPi / 2)), part), x);
  }
};
struct Acos {
  static HWY_INLINE V of(V x) {
    const V a = hn::Abs(x);
    const Mask large = hn::Gt(a, set(0.5));
    const V root = hn::Sqrt(hn::Mul(set(0.5), hn::Sub(set(1), a)));
    const V part = asin_of_small(hn::IfThenElse(hn::Le(a, set(0.5)), x, root));
    const V twice = hn::Add(part, part);
    const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(set(kPi), twice), twice);
    return hn::IfThenElse(large, far, hn::Sub(set(kPi / 2), part));
  }
};

// The angle of the point (x, y), neither of them negative: of three turns by pi/4, the one that leaves the least.
HWY_INLINE V angle_of(V y, V x) {
  constexpr double kAtan[] = {-3.33329491539E-1, 1.99777106478E-1, -1.38776856032E-1, 8.05374449538e-2};  // Cephes
  const Mask steep = hn::Gt(y, hn::Mul(x, set(2.414213562373095)));
  const Mask middle = hn::Gt(y, hn::Mul(x, set(0.4142135623730950)));
  const V top = hn::IfThenElse(steep, hn::Neg(x), hn::IfThenElse(middle, hn::Sub(y, x), y));
  const V bottom = hn::IfThenElse(steep, y, hn::IfThenElse(middle, hn::Add(y, x), x));
  const V start = hn::IfThenElse(steep, set(kPi / 2), hn::IfThenElseZero(middle, set(kPi / 4)));
  const V q = hn::Div(top, bottom);
  const V z = hn::Mul(q, q);
  return hn::Add(start, hn::MulAdd(hn::Mul(polynomial(kAtan, z), z), q, q));
}

struct Atan {
  static HWY_INLINE V of(V x) { return hn::CopySign(angle_of(hn::Abs(x), set(1)), x); }
};

struct Atan2 {
  static HWY_INLINE V of(V y, V x) {
    V a = hn::Abs(y);
    V b = hn::Abs(x);
    // The sum of large ones would overflow.
    const V large = hn::Max(a, b);
    const V scale = hn::IfThenElse(hn::Gt(large, set(0x1p100)), set(0x1p-4), set(1));
    a = hn::Mul(a, scale);
    b = hn::Mul(b, scale);
    // Infinities count as equal, and everything else as nothing beside them.
    const Mask infinite = hn::Eq(large, infinity());
    const V one = set(1);
    a = hn::IfThenElse(infinite, hn::IfThenElseZero(hn::Eq(a, infinity()), one), a);
    b = hn::IfThenElse(infinite, hn::IfThenElseZero(hn::Eq(b, infinity()), one), b);
    // The origin lies on the axis of x.
    b = hn::IfThenElse(hn::Eq(large, hn::Zero(d)), one, b);
    const V first = angle_of(a, b);
    const Mask left = hn::Ne(hn::CopySign(one, x), one);
    const V angle = hn::CopySign(hn::IfThenElse(left, hn::Sub(set(kPi), first), first), y);
    return hn::IfThenElse(hn::And(hn::Eq(x, x), hn::Eq(y, y)), angle, hn::Add(x, y));
  }
};

// The remainder of magnitudes whose quotient is below 2^28: the product with it is exact in double precision, and so is
// the difference. A quotient that was rounded up to an integer is one too large.
struct RestOf {
  static HWY_INLINE V64 of(V64 a, V64 b) {
    const V64 rest = hn::NegMulAdd(hn::Trunc(hn::Div(a, b)), b, a);
    return hn::IfThenElse(hn::Lt(rest, hn::Zero(d64)), hn::Add(rest, b), rest);
  }
};
struct Remainder {
  static HWY_INLINE V of(V x, V y) {
    const V a = hn::Abs(x);
    const V b = hn::Abs(y);
    // False for NaN, infinities and a zero divisor too.
    const Mask plain = hn::And(hn::Lt(a, hn::Mul(b, set(0x1p27))), hn::Lt(b, infinity()));
    const V result = hn::CopySign(in_double<RestOf>(a, b), x);
    if (HWY_LIKELY(hn::AllTrue(d, plain))) return result;
    return patch2([](float v, float w) { return std::fmod(v, w); }, x, y, hn::Not(plain), result);
  }
};

constexpr Entry kFunctions[] = {
    {"sin", vector1<Sin>},   {"cos", vector1<Cos>},   {"tan", vector1<Tan>},     {"asin", vector1<Asin>},
    {"acos", vector1<Acos>}, {"atan", vector1<Atan>}, {"atan2", vector2<Atan2>}, {"remainder", vector2<Remainder>},
};

}  // namespace

TileFn find_trig(std::string_view op, DType dtype) {
  return dtype == DType::float32 ? find_in(kFunctions, op) : nullptr;
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_trig);
TileFn trig_tile(std::string_view op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_trig)(op, dtype); }

}  // namespace reprise::native
#endif
