"""Element-wise functions of one operand, and casts."""

import numpy as np
from scipy import special as sp

from dtypes import (
    ALL,
    BITS,
    BOOL,
    COMPLEX,
    FLOATS,
    HALVES,
    INTEGERS,
    REALS,
    bits_of,
    cast,
    finfo,
    floating,
    name_of,
    numpy_dtype,
    real_part,
    wide,
    wide_float,
)
from framework import DEVICE, EFFORT, EXACT, Tolerance, boolean, reference, conformance_tests
from operands import LARGE, ordinary, random_shape, seasoned, shapes, special
from ways import Case

NUMBERS = tuple(d for d in ALL if d not in BOOL)


def unary(rng, dtype):
    """Any value at all."""
    yield Case([special(dtype)], note="special values", every_way=True)
    yield Case([seasoned(rng, (3, 4, 5), dtype)], every_way=True)
    for shape in shapes(rng, 6 * EFFORT):
        yield Case([seasoned(rng, shape, dtype)])
    yield Case([seasoned(rng, LARGE, dtype)], note="large")


def finite(rng, dtype):
    """Any value, of complex numbers those of finite parts: what becomes of infinite ones is not said in full."""
    for case in unary(rng, dtype):
        if dtype in COMPLEX:
            case.operands = [np.where(np.isfinite(a), a, 0).astype(a.dtype) for a in case.operands]
        yield case


def within(low, high):
    """A function's cases over [low, high), in which it is judged to within a tolerance, and at the special values."""

    def cases(rng, dtype):
        if dtype in COMPLEX:
            # C99's rules for infinite and NaN parts are no part of the contract.
            yield Case([ordinary(rng, (3, 4, 5), dtype)], every_way=True)
            for shape in shapes(rng, 6 * EFFORT):
                yield Case([ordinary(rng, shape, dtype)])
            yield Case([ordinary(rng, (40001,), dtype)], note="large")
            return
        yield Case([special(dtype)], note="special values", every_way=True)
        if dtype not in FLOATS:
            # They become float32, which has its own cases.
            for shape in [(), (0,), (17,), *(random_shape(rng, 1, 4) for _ in range(4 * EFFORT))]:
                yield Case([ordinary(rng, shape, dtype)])
            return
        yield Case([ordinary(rng, (3, 4, 5), dtype, low, high)], every_way=True)
        for shape in shapes(rng, 6 * EFFORT):
            yield Case([ordinary(rng, shape, dtype, low, high)])
        yield Case([ordinary(rng, LARGE, dtype, low, high)], note="large")
        # All magnitudes from the subnormal ones to that of the domain's end.
        exponents = rng.uniform(np.log2(float(finfo(dtype).smallest_subnormal)), np.log2(max(abs(low), high)), 20001)
        signs = rng.choice([-1.0, 1.0] if low < 0 else [1.0], 20001)
        yield Case([(signs * 2.0**exponents).astype(numpy_dtype(dtype))], note="all magnitudes")

    return cases


def keeps(names, attrs):
    return names[0]


def keeps_real(names, attrs):
    return real_part(names[0])


def computes(names, attrs):
    return floating(names[0])


# --- exact


@reference(
    "abs",
    dtypes=ALL,
    cases=finite,
    result=keeps_real,
    tolerance=lambda name, operands: Tolerance(1, "a square root of a sum") if operands == ["complex64"] else EXACT,
)
def abs_(x):
    return np.abs(wide(x))


@reference("ceil", dtypes=REALS, cases=unary)
def ceil(x):
    return np.ceil(wide(x)) if x.dtype.kind not in "biu" else x


@reference("floor", dtypes=REALS, cases=unary)
def floor(x):
    return np.floor(wide(x)) if x.dtype.kind not in "biu" else x


def round_away(x):
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


@reference("round", dtypes=ALL, cases=unary)
def round_(x):
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        parts = np.empty_like(x)
        parts.real, parts.imag = round_away(x.real), round_away(x.imag)
        return parts
    return round_away(wide(x))


@reference("negate", dtypes=NUMBERS, cases=unary)
def negate(x):
    return np.negative(x)


@reference(
    "sign",
    dtypes=ALL,
    cases=finite,
    signed_zeros=False,
    tolerance={name: EXACT for name in FLOATS} | {"complex64": Tolerance(2, "division by a rounded magnitude")},
)
def sign(x):
    if x.dtype.kind == "b":
        return x
    return np.sign(wide(x))


@reference("real", dtypes=ALL, cases=unary, result=keeps_real)
def real(x):
    return np.real(x)


@reference("imag", dtypes=ALL, cases=unary, result=keeps_real)
def imag(x):
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


@reference("conjugate", dtypes=ALL, cases=unary)
def conjugate(x):
    return np.conjugate(x) if x.dtype.kind == "c" else x


@reference("is_nan", dtypes=ALL, cases=unary, result=boolean)
def is_nan(x):
    return np.isnan(wide(x))


@reference("is_infinity", dtypes=ALL, cases=unary, result=boolean)
def is_infinity(x):
    return np.isinf(wide(x))


@reference("bitwise_not", dtypes=BITS, cases=unary)
def bitwise_not(x):
    return np.invert(x)


@reference("logical_not", dtypes=ALL, cases=unary, result=boolean)
def logical_not(x):
    return x == 0


# --- rounded

LIBRARY = "a library function"


def ulps(float32=2, float64=2, halves=0.51, reason=LIBRARY, absolute=0.0):
    """Measured on the CPU: at most 1.6 in float32 and, where nothing else is said, 1.8 in float64. Halves are computed
    in float32 and rounded once: half an epsilon and a little of the first rounding. CUDA documents up to 4."""
    if DEVICE != "cpu":
        float32, halves = max(float32, 4), max(halves, 1)
    tolerances = {name: Tolerance(halves, "computed in float32 and rounded once") for name in HALVES}
    tolerances["float32"] = Tolerance(float32, reason, absolute)
    tolerances["float64"] = Tolerance(float64, reason)
    tolerances["complex64"] = Tolerance(4, "several real functions, relative to the magnitude of the result")
    return tolerances


T = ulps()


@reference(
    "sigmoid",
    dtypes=REALS,
    cases=within(-30, 30),
    result=computes,
    tolerance=ulps(
        halves=0.75, absolute=1e-37, reason="1 / (1 + exp(-x)), whose exp overflows before the result vanishes"
    ),
)
def sigmoid(x):
    return sp.expit(wide_float(x))


@reference("sqrt", dtypes=ALL, cases=within(0, 1000), result=computes, tolerance=T)
def sqrt(x):
    return np.sqrt(wide_float(x))


@reference("rsqrt", dtypes=ALL, cases=within(0, 1000), result=computes, tolerance=ulps(halves=0.76))
def rsqrt(x):
    return 1 / np.sqrt(wide_float(x))


@reference("exp", dtypes=ALL, cases=within(-90, 90), result=computes, tolerance=T)
def exp(x):
    return np.exp(wide_float(x))


@reference("expm1", dtypes=REALS, cases=within(-90, 90), result=computes, tolerance=T)
def expm1(x):
    return np.expm1(wide_float(x))


@reference("log", dtypes=ALL, cases=within(0, 1000), result=computes, tolerance=T)
def log(x):
    return np.log(wide_float(x))


@reference("log1p", dtypes=ALL, cases=within(-1, 10), result=computes, tolerance=T)
def log1p(x):
    return np.log1p(wide_float(x))


@reference("sin", dtypes=ALL, cases=within(-100, 100), result=computes, tolerance=T)
def sin(x):
    return np.sin(wide_float(x))


@reference("cos", dtypes=ALL, cases=within(-100, 100), result=computes, tolerance=T)
def cos(x):
    return np.cos(wide_float(x))


@reference("tan", dtypes=ALL, cases=within(-100, 100), result=computes, tolerance=T)
def tan(x):
    return np.tan(wide_float(x))


@reference("asin", dtypes=ALL, cases=within(-1, 1), result=computes, tolerance=T)
def asin(x):
    return np.arcsin(wide_float(x))


@reference("acos", dtypes=ALL, cases=within(-1, 1), result=computes, tolerance=T)
def acos(x):
    return np.arccos(wide_float(x))


@reference("atan", dtypes=ALL, cases=within(-100, 100), result=computes, tolerance=T)
def atan(x):
    return np.arctan(wide_float(x))


@reference("sinh", dtypes=ALL, cases=within(-90, 90), result=computes, tolerance=T)
def sinh(x):
    return np.sinh(wide_float(x))


@reference("cosh", dtypes=ALL, cases=within(-90, 90), result=computes, tolerance=T)
def cosh(x):
    return np.cosh(wide_float(x))


@reference("tanh", dtypes=ALL, cases=within(-10, 10), result=computes, tolerance=T)
def tanh(x):
    return np.tanh(wide_float(x))


@reference("asinh", dtypes=ALL, cases=within(-100, 100), result=computes, tolerance=T)
def asinh(x):
    return np.arcsinh(wide_float(x))


@reference("acosh", dtypes=ALL, cases=within(1, 100), result=computes, tolerance=T)
def acosh(x):
    return np.arccosh(wide_float(x))


@reference("atanh", dtypes=ALL, cases=within(-1, 1), result=computes, tolerance=T)
def atanh(x):
    return np.arctanh(wide_float(x))


@reference("erf", dtypes=REALS, cases=within(-5, 5), result=computes, tolerance=ulps(float64=3))
def erf(x):
    return sp.erf(wide_float(x).astype(np.float64))


@reference(
    "erf_inv",
    dtypes=REALS,
    cases=within(-1, 1),
    result=computes,
    tolerance=ulps(3, 4, reason="rational approximations"),
)
def erf_inv(x):
    x = wide_float(x).astype(np.float64)
    outside = np.abs(x) > 1
    return np.where(outside, np.nan, sp.erfinv(np.where(outside, 0, x)))


@reference(
    "erfc",
    dtypes=REALS,
    cases=within(-5, 10),
    result=computes,
    tolerance=ulps(4, 4, reason="exp(-x * x) times a polynomial"),
)
def erfc(x):
    # SciPy's erfc itself is off by 6 epsilons at 1 and by 200 at 20.
    x = wide_float(x).astype(np.longdouble)
    tail = np.clip(x, 0.25, 200)
    return np.where(x > 0.25, np.exp(-tail * tail) * sp.erfcx(tail.astype(np.float64)), sp.erfc(x.astype(np.float64)))


@reference("cbrt", dtypes=REALS, cases=within(-1000, 1000), result=computes, tolerance=T)
def cbrt(x):
    return np.cbrt(wide_float(x))


# --- casts


def casts(rng, dtype):
    for target in ALL:
        attrs = {"dtype": target}
        yield Case([special(dtype)], attrs, note="special values", every_way=target == "int32")
        yield Case([seasoned(rng, random_shape(rng, 0, 4), dtype)], attrs)
        if target in INTEGERS and dtype in FLOATS:
            bound = min(float(2 ** bits_of(target)), float(finfo(dtype).max))
            values = rng.uniform(-bound, bound, 200).astype(numpy_dtype(dtype))
            yield Case([values], attrs, note="around the target's bounds")
    for shape in shapes(rng, 2 * EFFORT):
        yield Case([seasoned(rng, shape, dtype)], {"dtype": str(rng.choice(ALL))})
    yield Case([seasoned(rng, LARGE, dtype)], {"dtype": str(rng.choice(ALL))}, note="large")


@reference("astype", dtypes=ALL, cases=casts, result=lambda names, attrs: attrs["dtype"], signed_zeros=True)
def astype(x, dtype):
    if dtype in HALVES and (name_of(x) == "float64" or x.dtype.kind in "iu"):
        x = x.astype(np.float32)  # these reach 16 bits through float32, as the op's row says
    return cast(x, dtype)


def bitcasts(rng, dtype):
    size = numpy_dtype(dtype).itemsize
    for target in ALL:
        attrs, ratio = {"dtype": target}, numpy_dtype(target).itemsize // size or 1
        yield Case([seasoned(rng, (2, 3, 8), dtype)], attrs, every_way=target in ("uint8", "uint64"))
        yield Case([seasoned(rng, (*random_shape(rng, 0, 3, empty=True), ratio * 3), dtype)], attrs)
        yield Case([seasoned(rng, (0, 8), dtype)], attrs)
        if numpy_dtype(target).itemsize == size:
            yield Case([seasoned(rng, (), dtype)], attrs)
    for shape in shapes(rng, 2 * EFFORT):
        same = [t for t in ALL if numpy_dtype(t).itemsize == size]
        yield Case([seasoned(rng, shape, dtype)], {"dtype": str(rng.choice(same))})


@reference("bitcast", dtypes=ALL, cases=bitcasts, result=lambda names, attrs: attrs["dtype"])
def bitcast(x, dtype):
    if dtype == "bool":
        return x.view(np.uint8) != 0
    return x.view(numpy_dtype(dtype))


test_op = conformance_tests(__name__)
