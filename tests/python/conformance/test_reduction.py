"""Reductions, scans, sorting."""

import numpy as np

from dtypes import ALL, BITS, COMPLEX, HALVES, name_of, numpy_dtype, wide, widened
from elements import lesser, pick
from framework import EFFORT, Tolerance, boolean, conformance_tests, reference, scaled
from operands import (
    LARGE,
    LARGE_2D,
    WIDTHS,
    addends,
    factors,
    magnitudes,
    ordinary,
    random_shape,
    seasoned,
    signed_axis,
    some_axes,
    ties,
)
from ways import Case


def reductions(draw, empty=True):
    """Every kind of axes; `empty`: an axis that is reduced may have no element."""

    def cases(rng, dtype):
        def case(shape, axes, keep=None, **kwargs):
            keep = bool(rng.integers(0, 2)) if keep is None else keep
            return Case([draw(rng, shape, dtype)], {"keep_axes": keep, "axes": axes}, **kwargs)

        yield case((3, 4, 5), [1], False, every_way=True)
        yield case((3, 4, 5), [0, -1], True, every_way=True)
        yield case((3, 4), [], note="no axes")
        yield case((), [])
        yield case((0, 3), [1], note="nothing to reduce")
        yield case(LARGE, [0], note="large")
        yield case(LARGE_2D, [0], note="large")
        yield case(LARGE_2D, [1], note="large")
        if empty:
            yield case((0,), [0], note="empty")
            yield case((3, 0, 2), [1], note="empty")
        for n in WIDTHS:
            yield case((n,), [0])
            yield case((3, n), [0])
            yield case((n, 3), [0])
            yield case((2, n, 3), [1])
        for _ in range(10 * EFFORT):
            shape = random_shape(rng, 1, 5, 6)
            yield case(shape, some_axes(rng, len(shape)))

    return cases


def summed(names, attrs):
    return widened(names[0]) if attrs["axes"] else names[0]


def sum_tolerance(name, operands):
    return Tolerance(0.51, "terms add up in any order, 16-bit floats in float32", carried=64)


@reference("sum", dtypes=ALL, cases=reductions(addends), result=summed, tolerance=sum_tolerance, any_nan=True)
def sum_(x, keep_axes, axes):
    if not axes:
        return x
    if name_of(x) in BITS:
        return np.sum(x.astype(widened(name_of(x))), tuple(axes), keepdims=keep_axes, dtype=widened(name_of(x)))
    w = wide(x)
    return scaled(np.sum(w, tuple(axes), keepdims=keep_axes), np.sum(magnitudes(w), tuple(axes), keepdims=keep_axes))


def product_tolerance(name, operands):
    if name in HALVES:
        return Tolerance(1, "multiplied in float32 and rounded once")
    return Tolerance(64, "one rounding a factor, in any order; factors near 1")


def products(rng, dtype):
    for case in reductions(factors)(rng, dtype):
        if dtype in BITS or case.operands[0].size < 10000:
            yield case
    if dtype not in COMPLEX:
        yield Case([seasoned(rng, (5, 1), dtype)], {"keep_axes": False, "axes": [1]}, note="special values")


@reference("product", dtypes=ALL, cases=products, result=summed, tolerance=product_tolerance)
def product(x, keep_axes, axes):
    if not axes:
        return x
    if name_of(x) in BITS:
        x = x.astype(widened(name_of(x)))
        return np.prod(x, tuple(axes), keepdims=keep_axes, dtype=x.dtype)
    return np.prod(wide(x), tuple(axes), keepdims=keep_axes)


def truths(rng, shape, dtype):
    """Zeros of both signs, NaN and others, mostly of one kind."""
    values = seasoned(rng, shape, dtype)
    zero = numpy_dtype(dtype).type(0)
    return np.asarray(np.where(rng.random(shape) < rng.choice([0.05, 0.95]), zero, values), values.dtype)


@reference("all", dtypes=ALL, cases=reductions(truths), result=boolean)
def all_(x, keep_axes, axes):
    return np.all(x != 0, tuple(axes), keepdims=keep_axes)


@reference("any", dtypes=ALL, cases=reductions(truths), result=boolean)
def any_(x, keep_axes, axes):
    return np.any(x != 0, tuple(axes), keepdims=keep_axes)


def extreme(x, axes, keep, larger):
    """The greatest or least along the axes; NaN wins; complex numbers by their real, then their imaginary parts."""
    if not axes:
        return x
    axes = tuple(a % x.ndim for a in axes)
    kept = [a for a in range(x.ndim) if a not in axes]
    rows = np.transpose(x, [*kept, *axes]).reshape(
        [x.shape[a] for a in kept] + [int(np.prod([x.shape[a] for a in axes]))]
    )
    if x.dtype.kind in "biu":
        out = rows.max(-1) if larger else rows.min(-1)
    elif x.dtype.kind == "c":
        out = rows[..., 0]
        for i in range(1, rows.shape[-1]):
            y = rows[..., i]
            out = pick(out, y, lesser(y, out) if larger else lesser(out, y))
        out = np.where(np.isnan(out), complex(np.nan, np.nan), out).astype(x.dtype)
    else:
        out = (wide(rows).max(-1) if larger else wide(rows).min(-1)).astype(x.dtype)
    return out.reshape([1 if a in axes else n for a, n in enumerate(x.shape)]) if keep else out


@reference("reduce_max", dtypes=ALL, cases=reductions(seasoned, False), signed_zeros=False, any_nan=True)
def reduce_max(x, keep_axes, axes):
    return extreme(x, axes, keep_axes, True)


@reference("reduce_min", dtypes=ALL, cases=reductions(seasoned, False), signed_zeros=False, any_nan=True)
def reduce_min(x, keep_axes, axes):
    return extreme(x, axes, keep_axes, False)


def arg_reductions(rng, dtype):
    def case(shape, axis, keep=None, draw=ties, **kwargs):
        keep = bool(rng.integers(0, 2)) if keep is None else keep
        return Case([draw(rng, shape, dtype)], {"axis": axis, "keep_axis": keep}, **kwargs)

    yield case((3, 4, 5), 1, every_way=True)
    yield case((3, 4, 5), -1, every_way=True, note="of the flattened array")
    yield case((), -1)
    yield case((0, 3), 1)
    yield case(LARGE, 0, draw=seasoned, note="large")
    yield case(LARGE_2D, 1, draw=ordinary, note="large")
    yield case(LARGE_2D, -1, draw=seasoned, note="large")
    for n in WIDTHS:
        yield case((n,), 0)
        yield case((n, 3), 0)
        yield case((3, n), 1, draw=seasoned)
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 1, 4, 6)
        yield case(shape, int(rng.integers(-1, len(shape))), draw=seasoned if rng.integers(0, 2) else ties)


def order_keys(x):
    """Integers that order the elements as the contract does, NaN above all; equal elements have equal ones."""
    if x.dtype.kind == "c":
        keys = np.stack(
            [np.where(np.isnan(x), np.inf, x.real), np.where(np.isnan(x), np.inf, x.imag), np.isnan(x)]
        ).reshape(3, -1)
        # NaN last, then by parts; -0.0 + 0 is 0.
        order = np.lexsort((keys[1] + 0, keys[0] + 0, keys[2]))
        columns = keys[:, order] + 0
        steps = np.any(columns[:, 1:] != columns[:, :-1], 0)
        out = np.empty(x.size, np.int64)
        out[order] = np.concatenate([[0], np.cumsum(steps)]) if x.size else 0
        return out.reshape(x.shape)
    return np.unique(wide(x), return_inverse=True)[1].reshape(x.shape)


def arg_extreme(x, axis, keep, larger):
    keys = order_keys(x)
    if not larger:
        keys = np.where(np.isnan(wide(x)), -1, keys)
    search = np.argmax if larger else np.argmin
    if axis < 0:
        out = search(keys)
        return np.asarray(out, np.uint32).reshape((1,) * x.ndim if keep else ())
    return search(keys, axis, keepdims=keep).astype(np.uint32)


def index_result(names, attrs):
    return "uint32"


@reference("argmax", dtypes=ALL, cases=arg_reductions, result=index_result)
def argmax(x, axis, keep_axis):
    return arg_extreme(x, axis, keep_axis, True)


@reference("argmin", dtypes=ALL, cases=arg_reductions, result=index_result)
def argmin(x, axis, keep_axis):
    return arg_extreme(x, axis, keep_axis, False)


# --- scans


def along_an_axis(rng, case):
    """Cases of ops that work along one axis: each SIMD width, then random shapes."""
    for n in WIDTHS:
        yield case((n,), 0)
        yield case((n, 3), 0)
        yield case((2, n), 1)
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 1, 4, 6)
        yield case(shape, signed_axis(rng, int(rng.integers(0, len(shape))), len(shape)))


def scans(draw, large=True):
    def cases(rng, dtype):
        def case(shape, axis, reverse=None, **kwargs):
            reverse = bool(rng.integers(0, 2)) if reverse is None else reverse
            return Case([draw(rng, shape, dtype)], {"axis": axis, "reverse": reverse}, **kwargs)

        yield case((3, 4, 5), 1, False, every_way=True)
        yield case((3, 4, 5), -1, True, every_way=True)
        yield case((0,), 0)
        yield case((3, 0), 0)
        if large:
            yield case(LARGE, 0, note="large")
            yield case(LARGE_2D, 0, note="large")
        yield from along_an_axis(rng, case)

    return cases


def directed(x, axis, reverse, scan):
    """scan(x) along the axis, from its end if `reverse`."""
    return np.flip(scan(np.flip(x, axis)), axis) if reverse else scan(x)


def scan_tolerance(name, operands):
    return Tolerance(0.51, "one rounding a term, of 16-bit floats in float32", carried=64)


@reference(
    "cumulative_sum",
    dtypes=ALL,
    cases=scans(addends),
    tolerance=scan_tolerance,
    any_nan=True,
    result=lambda names, attrs: "int32" if names[0] == "bool" else names[0],
)
def cumulative_sum(x, axis, reverse):
    if name_of(x) in BITS:
        dtype = np.int32 if x.dtype == bool else x.dtype
        return directed(x, axis, reverse, lambda x: np.cumsum(x, axis, dtype=dtype))
    w = wide(x)
    return scaled(
        directed(w, axis, reverse, lambda x: np.cumsum(x, axis)),
        directed(magnitudes(w), axis, reverse, lambda x: np.cumsum(x, axis)),
    )


@reference(
    "cumulative_product",
    dtypes=ALL,
    cases=scans(factors, False),
    tolerance=lambda name, operands: (
        Tolerance(0.55, "carried in float32 and rounded once")
        if name in HALVES
        else Tolerance(64, "one rounding a factor")
    ),
)
def cumulative_product(x, axis, reverse):
    if x.dtype == bool:
        return directed(x, axis, reverse, lambda x: np.logical_and.accumulate(x, axis))
    return directed(wide(x), axis, reverse, lambda x: np.cumprod(x, axis, dtype=x.dtype))


def running(x, axis, larger):
    out = x.copy()
    lines, source = np.moveaxis(out, axis, 0), np.moveaxis(x, axis, 0)
    for i in range(1, len(lines)):
        before = lines[i - 1]
        lines[i] = pick(before, source[i], lesser(source[i], before) if larger else lesser(before, source[i]))
    return out


@reference("cumulative_max", dtypes=ALL, cases=scans(seasoned, False), signed_zeros=False, any_nan=True)
def cumulative_max(x, axis, reverse):
    return directed(x, axis, reverse, lambda x: running(x, axis, True))


@reference("cumulative_min", dtypes=ALL, cases=scans(seasoned, False), signed_zeros=False, any_nan=True)
def cumulative_min(x, axis, reverse):
    return directed(x, axis, reverse, lambda x: running(x, axis, False))


# --- sorting


def sorts(rng, dtype):
    def case(shape, axis, ascending=None, draw=None, **kwargs):
        ascending = bool(rng.integers(0, 2)) if ascending is None else ascending
        draw = draw or (ties if rng.integers(0, 2) else seasoned)
        return Case([draw(rng, shape, dtype)], {"axis": axis, "ascending": ascending}, **kwargs)

    yield case((3, 4, 5), 1, True, every_way=True)
    yield case((3, 4, 5), -1, False, every_way=True)
    yield case((0,), 0)
    yield case((3, 0), 0)
    yield case((30011,), 0, draw=seasoned, note="large")
    yield case((30011,), 0, False, draw=ties, note="large")
    yield case((57, 1025), 1, note="large")
    yield from along_an_axis(rng, case)


@reference("argsort", dtypes=ALL, cases=sorts, result=index_result)
def argsort(x, axis, ascending):
    keys = order_keys(x)
    return np.argsort(keys if ascending else -keys, axis, kind="stable").astype(np.uint32)


@reference("sort", dtypes=ALL, cases=sorts)
def sort(x, axis, ascending):
    return np.take_along_axis(x, argsort(x, axis, ascending).astype(np.int64), axis)


test_op = conformance_tests(__name__)
