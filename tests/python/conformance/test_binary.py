"""Element-wise functions of two operands: arithmetic, bits, comparisons, logic."""

import numpy as np

from dtypes import ALL, BITS, COMPLEX, FLOATS, HALVES, REALS, floating, name_of, numpy_dtype, promote, wide
from elements import common, lesser, own, pairs, pick, widely
from framework import DEVICE, EFFORT, EXACT, Tolerance, boolean, conformance_tests, floated, promoted, reference
from operands import broadcastable, seasoned, small
from ways import Case


def complex_product(name, operands):
    return Tolerance(2, "products of parts, relative to the magnitude") if name in COMPLEX else EXACT


def ordinary_complex(cases):
    """Where a complex number takes part, all parts are finite and neither tiny nor huge, and no complex divisor is 0:
    what becomes of others is not said in full."""

    def tame(a):
        magnitude = np.abs(a.astype(np.complex128))
        return np.where((magnitude < 1e15) & (magnitude > 1e-15), a, 1).astype(a.dtype)

    def generate(rng, dtype):
        for case in cases(rng, dtype):
            if any(a.dtype.kind == "c" for a in case.operands):
                case.operands = [tame(a) for a in case.operands]
            yield case

    return generate


ANY = pairs(seasoned)


@reference("add", dtypes=ALL, cases=ANY, result=promoted)
def add(a, b):
    a, b = common(a, b)
    return np.logical_or(a, b) if a.dtype == bool else own(a) + own(b)


@reference("subtract", dtypes=ALL, cases=ANY, result=promoted)
def subtract(a, b):
    a, b = common(a, b)
    return np.logical_xor(a, b) if a.dtype == bool else own(a) - own(b)


@reference("multiply", dtypes=ALL, cases=ordinary_complex(ANY), result=promoted, tolerance=complex_product)
def multiply(a, b):
    a, b = common(a, b)
    if a.dtype.kind == "c":
        return wide(a) * wide(b)
    return np.logical_and(a, b) if a.dtype == bool else own(a) * own(b)


def quotient_tolerance(name, operands):
    if name in COMPLEX:
        return Tolerance(4, "products of parts and a division, relative to the magnitude")
    return EXACT if DEVICE == "cpu" else Tolerance(1, "a division that may be approximate")


@reference("divide", dtypes=ALL, cases=ordinary_complex(ANY), result=floated, tolerance=quotient_tolerance)
def divide(a, b):
    a, b = (x.astype(numpy_dtype(floating(name_of(x)))) for x in common(a, b))
    return wide(a) / wide(b) if a.dtype.kind == "c" else own(a) / own(b)


def power_tolerance(name, operands):
    if name in COMPLEX:
        return Tolerance(64, "exp(b log(a)) magnifies rounding by |b log(a)|")
    if name in HALVES:
        return Tolerance(0.51, "computed in float32 and rounded once")
    return Tolerance(2, "a library function")


def powers(rng, dtype):
    if dtype in FLOATS:
        yield from ordinary_complex(pairs(seasoned, [d for d in ALL if d != "complex64"]))(rng, dtype)
    for case in pairs(
        lambda rng, shape, dtype: small(rng, shape, dtype, -12, 12),
        [d for d in ALL if d != "complex64"],
        second=lambda rng, shape, dtype: small(rng, shape, dtype, -5, 20),
    )(rng, dtype):
        if dtype in COMPLEX:
            a, b = (np.where(x == 0, 1, x).astype(x.dtype) for x in case.operands)
            case.operands = [
                (a / 4).astype(a.dtype) if a.dtype.kind == "c" else a,
                (b / 4).astype(b.dtype) if b.dtype.kind == "c" else b,
            ]
        yield case


@reference("pow", dtypes=ALL, cases=powers, result=promoted, tolerance=power_tolerance)
def power(a, b):
    a, b = common(a, b)
    if a.dtype == bool:
        return a | ~b
    if a.dtype.kind in "iu":
        positive = np.power(a, np.where(b < 0, 0, b).astype(b.dtype))
        odd = (b & b.dtype.type(1)) != 0
        inverse = (
            np.where(a == 1, 1, np.where(a.astype(object) == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
            if a.dtype.kind == "i"
            else positive
        )
        return np.where(b < 0, inverse, positive)
    # NumPy takes a square root for a single exponent of 0.5, which differs from a power at -inf alone.
    return np.where((b == 0.5) & (a == -np.inf), np.inf, np.power(wide(a), wide(b)))


@reference(
    "atan2",
    dtypes=REALS,
    cases=pairs(seasoned, REALS),
    result=floated,
    tolerance={name: Tolerance(0.51 if name in HALVES else 2, "a library function") for name in FLOATS},
)
def atan2(a, b):
    return np.arctan2(*widely(a, b))


@reference("min", dtypes=ALL, cases=ANY, result=promoted, signed_zeros=False, any_nan=True)
def minimum(a, b):
    a, b = common(a, b)
    return pick(a, b, lesser(a, b))


@reference("max", dtypes=ALL, cases=ANY, result=promoted, signed_zeros=False, any_nan=True)
def maximum(a, b):
    a, b = common(a, b)
    return pick(a, b, lesser(b, a))


def truncated(a, b):
    """The integer quotient toward zero, in exact arithmetic; 0 for a division by 0."""
    low, high = abs(a), abs(b)
    return 0 if b == 0 else (low // high if (a < 0) == (b < 0) else -(low // high))


def wrapped(values, dtype):
    """Python's integers modulo 2^bits."""
    values, bits = np.asarray(values, object), dtype.itemsize * 8
    unsigned = np.array([int(v) & (2**bits - 1) for v in values.ravel()], f"uint{bits}").reshape(values.shape)
    return unsigned.astype(dtype)


@reference("quotient", dtypes=REALS, cases=pairs(seasoned, REALS), result=promoted, signed_zeros=False)
def quotient(a, b):
    a, b = common(a, b)
    if a.dtype == bool:
        return a & b
    if a.dtype.kind in "iu":
        if max(a.size, b.size) > 10000 or a.size * b.size > 10000:
            safe = np.where(b == 0, 1, b).astype(b.dtype)
            exact = np.floor_divide(a, safe)
            exact = exact + ((exact * safe != a) & ((a < 0) != (b < 0))).astype(a.dtype)
            return np.where(b == 0, 0, exact).astype(a.dtype)
        return wrapped(np.frompyfunc(lambda x, y: truncated(int(x), int(y)), 2, 1)(a, b), a.dtype)
    return np.trunc(own(a) / own(b))


@reference("remainder", dtypes=REALS, cases=pairs(seasoned, REALS), result=promoted)
def remainder(a, b):
    a, b = common(a, b)
    if a.dtype == bool:
        return a & ~b
    if a.dtype.kind in "iu":
        return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b).astype(b.dtype))).astype(a.dtype)
    return np.fmod(wide(a), wide(b))


def shift_result(names, attrs):
    name = promote(*names)
    return "uint8" if name == "bool" else name


def shifts(rng, dtype):
    others = [d for d in BITS if promote(dtype, d) not in FLOATS]
    yield from pairs(seasoned, others, second=lambda rng, shape, dtype: small(rng, shape, dtype, -3, 70))(rng, dtype)
    yield from pairs(seasoned, [])(rng, dtype)


def shift_operands(a, b):
    a, b = common(a, b)
    if a.dtype == bool:
        a, b = a.astype(np.uint8), b.astype(np.uint8)
    width = a.dtype.itemsize * 8
    outside = (b < 0) | (b >= width)
    return a, np.where(outside, 0, b).astype(b.dtype), outside


@reference("left_shift", dtypes=BITS, cases=shifts, result=shift_result)
def left_shift(a, b):
    a, b, outside = shift_operands(a, b)
    return np.where(outside, 0, np.left_shift(a, b)).astype(a.dtype)


@reference("right_shift", dtypes=BITS, cases=shifts, result=shift_result)
def right_shift(a, b):
    a, b, outside = shift_operands(a, b)
    return np.where(outside, -(a < 0).astype(a.dtype), np.right_shift(a, b))


def bit_pairs(rng, dtype):
    yield from pairs(seasoned, [d for d in BITS if promote(dtype, d) not in FLOATS])(rng, dtype)


@reference("bitwise_and", dtypes=BITS, cases=bit_pairs, result=promoted)
def bitwise_and(a, b):
    return np.bitwise_and(*common(a, b))


@reference("bitwise_or", dtypes=BITS, cases=bit_pairs, result=promoted)
def bitwise_or(a, b):
    return np.bitwise_or(*common(a, b))


@reference("bitwise_xor", dtypes=BITS, cases=bit_pairs, result=promoted)
def bitwise_xor(a, b):
    return np.bitwise_xor(*common(a, b))


# --- comparisons and logic


def compared(rng, dtype):
    """Pairs of which many are equal."""
    yield from ANY(rng, dtype)
    for _ in range(4 * EFFORT):
        a, b = broadcastable(rng)
        yield Case([small(rng, a, dtype, -1, 1), small(rng, b, dtype, -1, 1)])


@reference("equal", dtypes=ALL, cases=compared, result=boolean)
def equal(a, b):
    a, b = common(a, b)
    return a == b


@reference("not_equal", dtypes=ALL, cases=compared, result=boolean)
def not_equal(a, b):
    a, b = common(a, b)
    return a != b


def ordered(a, b):
    return ~(np.isnan(a) | np.isnan(b)) if a.dtype.kind == "c" else True


@reference("less", dtypes=ALL, cases=compared, result=boolean)
def less(a, b):
    a, b = common(a, b)
    return lesser(a, b) & ordered(a, b)


@reference("less_equal", dtypes=ALL, cases=compared, result=boolean)
def less_equal(a, b):
    a, b = common(a, b)
    return (lesser(a, b) | (a == b)) & ordered(a, b)


@reference("greater", dtypes=ALL, cases=compared, result=boolean)
def greater(a, b):
    a, b = common(a, b)
    return lesser(b, a) & ordered(a, b)


@reference("greater_equal", dtypes=ALL, cases=compared, result=boolean)
def greater_equal(a, b):
    a, b = common(a, b)
    return (lesser(b, a) | (a == b)) & ordered(a, b)


@reference("logical_and", dtypes=ALL, cases=compared, result=boolean)
def logical_and(a, b):
    return (a != 0) & (b != 0)


@reference("logical_or", dtypes=ALL, cases=compared, result=boolean)
def logical_or(a, b):
    return (a != 0) | (b != 0)


@reference("logical_xor", dtypes=ALL, cases=compared, result=boolean)
def logical_xor(a, b):
    return (a != 0) ^ (b != 0)


test_op = conformance_tests(__name__)
