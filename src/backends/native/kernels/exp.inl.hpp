// The exponential of numbers that are not positive, as softmax and sigmoid need it. Included once for each target of
// Highway.
#if defined(REPRISE_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_EXP_INL
#undef REPRISE_EXP_INL
#else
#define REPRISE_EXP_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0, within 2 units in the last place, NaN for NaN; 0 below -87, or with kSubnormal below -104.
template <bool kSubnormal = false, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_negative(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145752f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), r);
  V p = hn::Set(d, 1.0f / 720);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  if constexpr (kSubnormal) {
    // Scaled in two steps, of which the last rounds.
    const auto whole = hn::ConvertTo(di, hn::Max(n, hn::Set(d, -200.0f)));
    const auto half = hn::ShiftRight<1>(whole);
    const auto power = [&](auto e) { return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, hn::Set(di, 127)))); };
    const V scaled = hn::Mul(hn::Mul(p, power(half)), power(hn::Sub(whole, half)));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -104.0f)), scaled);
  }
  const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  const V result = hn::Mul(p, hn::BitCast(d, bits));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), result);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#endif
