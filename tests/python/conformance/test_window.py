"""Windows and what scatters into them."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dtypes import ALL, BITS, REALS, cast, name_of, wide, widened
from framework import EFFORT, Tolerance, conformance_tests, reference, scaled
from operands import WIDTHS, addends, factors, magnitudes, ordinary, random_shape, seasoned, small, ties
from test_reduction import product_tolerance
from ways import Case


def geometry(rng, shape, dilated=True):
    """Attributes of a window that fits, for each axis of `shape`."""
    sizes = [int(rng.integers(1, 4)) for _ in shape]
    dilations = [int(rng.integers(1, 3)) if dilated else 1 for _ in shape]
    low, high = ([int(rng.integers(0, 3)) for _ in shape] for _ in range(2))
    for i, n in enumerate(shape):
        short = (sizes[i] - 1) * dilations[i] + 1 - (n + low[i] + high[i])
        high[i] += max(short, 0)
    attrs = {"low": low, "high": high, "strides": [int(s) for s in rng.integers(1, 4, len(shape))], "sizes": sizes}
    return {**attrs, "dilations": dilations} if dilated else attrs


def windows(draw):
    def cases(rng, dtype):
        def case(shape, low, high, strides, sizes, dilations, **kwargs):
            attrs = {"low": low, "high": high, "strides": strides, "sizes": sizes, "dilations": dilations}
            return Case([draw(rng, shape, dtype)], attrs, **kwargs)

        yield case((5, 6), [0, 1], [1, 0], [1, 2], [2, 3], [1, 1], every_way=True)
        yield case((7, 6), [0, 1], [1, 2], [2, 1], [2, 3], [2, 2], note="dilated", every_way=True)
        yield case((), [], [], [], [], [])
        yield case((3,), [0], [0], [1], [4], [1], note="nothing fits")
        yield case((2, 0), [0, 0], [0, 0], [1, 1], [1, 1], [1, 1])
        yield case((2, 0), [0, 2], [0, 1], [1, 1], [2, 2], [1, 1], note="padding alone")
        yield case((257, 513), [1, 0], [1, 1], [1, 2], [3, 2], [1, 1], note="large")
        for n in WIDTHS:
            yield case((n,), [1], [1], [1], [3], [1])
            yield case((2, n), [0, 0], [0, 0], [1, 1], [1, n], [1, 1])
        for _ in range(14 * EFFORT):
            shape = random_shape(rng, 1, 4, 6)
            yield Case([draw(rng, shape, dtype)], geometry(rng, shape))

    return cases


def views(x, neutral, low, high, strides, sizes, dilations):
    """(windows..., elements of each window...), after padding with the neutral value."""
    padded = np.full([n + lo + hi for n, lo, hi in zip(x.shape, low, high)], neutral, x.dtype)
    padded[tuple(slice(lo, lo + n) for n, lo in zip(x.shape, low))] = x
    extents = [(n - 1) * d + 1 for n, d in zip(sizes, dilations)]
    if any(p < e for p, e in zip(padded.shape, extents)):
        return np.empty([*((p - e) // s + 1 for p, e, s in zip(padded.shape, extents, strides)), *sizes], x.dtype)
    if not x.ndim:
        return padded
    out = sliding_window_view(padded, extents)
    return out[(*(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in dilations))]


def inner(x):
    return tuple(range(x.ndim, 2 * x.ndim))


def window_dtype(names, attrs):
    return widened(names[0])


def window_sum_tolerance(name, operands):
    return Tolerance(0.51, "terms add up in any order, 16-bit floats in float32", carried=32)


@reference(
    "window_sum", dtypes=ALL, cases=windows(addends), result=window_dtype, tolerance=window_sum_tolerance, any_nan=True
)
def window_sum(x, **attrs):
    if name_of(x) in BITS:
        v = views(x.astype(widened(name_of(x))), 0, **attrs)
        return v.sum(inner(x), dtype=v.dtype)
    v = views(wide(x), 0, **attrs)
    return scaled(v.sum(inner(x)), magnitudes(v).sum(inner(x)))


@reference("window_product", dtypes=ALL, cases=windows(factors), result=window_dtype, tolerance=product_tolerance)
def window_product(x, **attrs):
    x = x.astype(widened(name_of(x))) if name_of(x) in BITS else wide(x)
    return views(x, 1, **attrs).prod(inner(x), dtype=x.dtype)


def bound(x, lowest):
    """The least or greatest value of a dtype, infinite for floats."""
    if x.dtype.kind in "iu":
        return np.iinfo(x.dtype).min if lowest else np.iinfo(x.dtype).max
    return not lowest if x.dtype == bool else -np.inf if lowest else np.inf


@reference("window_max", dtypes=REALS, cases=windows(seasoned), signed_zeros=False)
def window_max(x, **attrs):
    v = views(wide(x), bound(x, True), **attrs)
    return v.max(inner(x), initial=bound(x, True)).astype(x.dtype)


@reference("window_min", dtypes=REALS, cases=windows(seasoned), signed_zeros=False)
def window_min(x, **attrs):
    v = views(wide(x), bound(x, False), **attrs)
    return v.min(inner(x), initial=bound(x, False)).astype(x.dtype)


def window_scatters(rng, dtype):
    def case(shape, attrs, draw=ties, other=dtype, **kwargs):
        counts = [
            (n + lo + hi - size) // s + 1
            for n, lo, hi, size, s in zip(shape, attrs["low"], attrs["high"], attrs["sizes"], attrs["strides"])
        ]
        source = ordinary(rng, counts, other)
        return Case([draw(rng, shape, dtype), source, small(rng, (), dtype, 0, 2)], attrs, **kwargs)

    plain = {"low": [0, 0], "high": [0, 0], "strides": [2, 3], "sizes": [2, 3]}
    yield case((4, 6), plain, every_way=True)
    yield case(
        (5, 5),
        {"low": [1, 0], "high": [0, 2], "strides": [1, 2], "sizes": [3, 2]},
        every_way=True,
        note="overlapping, padded",
    )
    yield case((), {"low": [], "high": [], "strides": [], "sizes": []})
    yield case((60, 301), plain, draw=seasoned, note="large")
    yield case((0, 3), {"low": [2, 0], "high": [0, 0], "strides": [1, 1], "sizes": [1, 1]})
    for n in WIDTHS:
        yield case((n,), {"low": [1], "high": [1], "strides": [1], "sizes": [3]})
    for _ in range(16 * EFFORT):
        shape = random_shape(rng, 1, 3, 6)
        yield case(shape, geometry(rng, shape, False), draw=seasoned if rng.integers(0, 2) else ties)


def window_scatter(x, source, init, low, high, strides, sizes, select):
    init = cast(init, name_of(x))
    padded = np.full([n + lo + hi for n, lo, hi in zip(x.shape, low, high)], init, x.dtype)
    inside = tuple(slice(lo, lo + n) for n, lo in zip(x.shape, low))
    padded[inside] = x
    exact = x.dtype.kind in "biu"
    out = np.full(padded.shape, init, x.dtype if exact else np.longdouble)
    scale = None if exact else np.array(np.abs(out))
    source = cast(source, name_of(x))
    for place in np.ndindex(*source.shape):
        corner = [p * s for p, s in zip(place, strides)]
        block = padded[tuple(slice(c, c + n) for c, n in zip(corner, sizes))]
        at = tuple(c + int(i) for c, i in zip(corner, np.unravel_index(select(block.ravel()), block.shape)))
        if x.dtype == bool:
            out[at] |= source[place]
        elif exact:
            out[at] = np.add(out[at], source[place], dtype=x.dtype)
        else:
            out[at] += source[place].astype(np.longdouble)
            scale[at] += abs(source[place].astype(np.longdouble))
    return out[inside] if exact else scaled(out[inside], scale[inside])


def first_greatest(block):
    return int(np.argmax(wide(block)))  # NaN is the greatest to NumPy too


def last_least(block):
    block = wide(block)
    return 0 if np.any(np.isnan(block)) else len(block) - 1 - int(np.argmin(block[::-1]))


def scatter_tolerance(name, operands):
    return Tolerance(0.51, "overlapping windows add up in any order, 16-bit floats in float32", carried=8)


@reference("window_scatter_max", dtypes=REALS, cases=window_scatters, tolerance=scatter_tolerance)
def window_scatter_max(x, source, init, low, high, strides, sizes):
    return window_scatter(x, source, init, low, high, strides, sizes, first_greatest)


@reference("window_scatter_min", dtypes=REALS, cases=window_scatters, tolerance=scatter_tolerance)
def window_scatter_min(x, source, init, low, high, strides, sizes):
    return window_scatter(x, source, init, low, high, strides, sizes, last_least)


test_op = conformance_tests(__name__)
