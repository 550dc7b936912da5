"""What element-wise functions share: their cases, operands in their common dtype, and the order of elements."""

import numpy as np

from dtypes import ALL, HALVES, floating, name_of, numpy_dtype, promote, wide
from framework import EFFORT
from operands import LARGE, WIDTHS, broadcastable, seasoned, special
from ways import Case

# Shapes that broadcast, beside the equal ones.
PAIRS = [
    ((), ()),
    ((), (5,)),
    ((17,), ()),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (4,)),
    ((2, 1, 4), (3, 1)),
    ((1,), (33,)),
    ((0,), (1,)),
    ((3, 0), (3, 1)),
    ((2, 3, 4), (2, 3, 4)),
    ((5, 1, 7), (1, 6, 1)),
    ((33, 17), (33, 17)),
]


def pairs(values, others=ALL, second=None):
    """Operands of one dtype and of each promotion with another; `values` and `second` draw them."""
    second = second or values

    def cases(rng, dtype):
        edges = special(dtype)
        yield Case([values(rng, (3, 4, 5), dtype), second(rng, (3, 4, 5), dtype)], every_way=True)
        yield Case([values(rng, (3, 1, 5), dtype), second(rng, (4, 1), dtype)], note="broadcast", every_way=True)
        if values is seasoned:
            yield Case([edges[:, None], edges[None, :]], note="every pair of special values")
        for other in others:
            if other == dtype:
                continue
            a, b = broadcastable(rng)
            yield Case([values(rng, (7,), dtype), second(rng, (7,), other)])
            yield Case([values(rng, a, other), second(rng, b, dtype)])
        for n in WIDTHS:
            yield Case([values(rng, (n,), dtype), second(rng, (n,), dtype)])
            if n % 2:
                yield Case([values(rng, (n,), dtype), second(rng, (), dtype)])
        for a, b in PAIRS:
            yield Case([values(rng, a, dtype), second(rng, b, dtype)])
        for _ in range(6 * EFFORT):
            a, b = broadcastable(rng)
            yield Case([values(rng, a, dtype), second(rng, b, dtype)])
        yield Case([values(rng, LARGE, dtype), second(rng, LARGE, dtype)], note="large")
        yield Case([values(rng, (300, 1), dtype), second(rng, (401,), dtype)], note="large, broadcast")

    return cases


def common(a, b):
    """Both operands in their promoted dtype."""
    target = numpy_dtype(promote(name_of(a), name_of(b)))
    return a.astype(target), b.astype(target)


def own(a):
    """The dtype in which one operation is rounded rightly: its own, and float32 for 16-bit floats."""
    return a.astype(np.float32) if name_of(a) in HALVES else a


def widely(a, b):
    """Both operands in their promoted dtype's values, held in a wider type; booleans and integers as float32."""
    a, b = common(a, b)
    target = numpy_dtype(floating(name_of(a)))
    return wide(a.astype(target)), wide(b.astype(target))


def lesser(a, b):
    """Where a comes before b: complex numbers by their real, then their imaginary parts."""
    if a.dtype.kind != "c":
        return a < b
    return (a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag))


def pick(a, b, which):
    """a or b; NaN, in both parts, if either is."""
    out = np.where(which, a, b)
    if a.dtype.kind in "biu":
        return out
    nan = complex(np.nan, np.nan) if a.dtype.kind == "c" else np.nan
    return np.where(np.isnan(a) | np.isnan(b), nan, out).astype(a.dtype)
