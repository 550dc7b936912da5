"""Selection, slices, gathers and scatters."""

import numpy as np

from dtypes import ALL, COMPLEX, INTEGERS, REALS, cast, name_of, numpy_dtype, promote
from elements import lesser, pick
from framework import EFFORT, Tolerance, conformance_tests, promoted, reference, scaled
from operands import (
    LARGE,
    LARGE_2D,
    WIDTHS,
    broadcastable,
    distinct_axes,
    magnitudes,
    ordinary,
    random_shape,
    seasoned,
    shapes,
    signed_axis,
    small,
)
from ways import Case

# --- element-wise selection


def selections(rng, dtype):
    yield Case(
        [small(rng, (3, 4), dtype, 0, 1), seasoned(rng, (3, 4), dtype), seasoned(rng, (3, 4), dtype)], every_way=True
    )
    yield Case([seasoned(rng, (3, 1), dtype), seasoned(rng, (4,), dtype), seasoned(rng, (), dtype)], every_way=True)
    for other in ALL:
        yield Case([small(rng, (9,), other, 0, 1), seasoned(rng, (9,), dtype), seasoned(rng, (9,), other)])
        yield Case([seasoned(rng, (9,), other), seasoned(rng, (9,), other), seasoned(rng, (9,), dtype)])
    yield Case([ordinary(rng, LARGE, "bool"), seasoned(rng, LARGE, dtype), seasoned(rng, LARGE, dtype)], note="large")
    for n in WIDTHS:
        yield Case([ordinary(rng, (n,), "bool"), seasoned(rng, (n,), dtype), seasoned(rng, (n,), dtype)])
    for _ in range(8 * EFFORT):
        a, b = broadcastable(rng)
        yield Case([ordinary(rng, a, "bool"), seasoned(rng, b, dtype), seasoned(rng, (), dtype)])
        yield Case([ordinary(rng, b, "bool"), seasoned(rng, a, dtype), seasoned(rng, b, dtype)])


@reference("select", dtypes=ALL, cases=selections, result=lambda names, attrs: promote(*names[1:]))
def select(pred, on_true, on_false):
    target = numpy_dtype(promote(name_of(on_true), name_of(on_false)))
    return np.where(pred != 0, on_true.astype(target), on_false.astype(target))


def clips(rng, dtype):
    yield Case(
        [seasoned(rng, (3, 4), dtype), small(rng, (), dtype, -3, 0), small(rng, (), dtype, 0, 3)], every_way=True
    )
    yield Case(
        [seasoned(rng, (3, 4), dtype), seasoned(rng, (4,), dtype), seasoned(rng, (3, 1), dtype)],
        note="low above high too",
        every_way=True,
    )
    for other in ALL:
        yield Case([seasoned(rng, (9,), dtype), seasoned(rng, (9,), other), seasoned(rng, (9,), dtype)])
        yield Case([seasoned(rng, (9,), other), seasoned(rng, (9,), dtype), seasoned(rng, (9,), other)])
    yield Case([seasoned(rng, LARGE, dtype), small(rng, (), dtype, -3, 0), small(rng, (), dtype, 0, 3)], note="large")
    for shape in shapes(rng, 6 * EFFORT):
        yield Case([seasoned(rng, shape, dtype), small(rng, (), dtype, -3, 0), small(rng, (), dtype, 0, 3)])


@reference("clip", dtypes=ALL, cases=clips, result=promoted, signed_zeros=False, any_nan=True)
def clip(x, low, high):
    target = numpy_dtype(promote(name_of(x), name_of(low), name_of(high)))
    x, low, high = (np.asarray(a, target) for a in np.broadcast_arrays(*(a.astype(target) for a in (x, low, high))))
    above = pick(x, low, lesser(low, x))
    return pick(above, high, lesser(above, high))


# --- indices


def indices(rng, shape, size, dtype=None):
    """Indices of an axis of `size`: most inside, some from the end, some outside."""
    name = dtype or str(rng.choice(INTEGERS))
    info = np.iinfo(name)
    far = [i for i in (-size - 1, -size - 7, size, size + 5, info.min, info.max) if info.min <= i <= info.max]
    near = [i for i in range(-size, size) if info.min <= i <= info.max]
    far, near = np.array(far, name), np.array(near or [0], name)
    return np.asarray(np.where(rng.random(shape) < 0.2, rng.choice(far, shape), rng.choice(near, shape)))


def clamped(index, size):
    """Reads: from the end if negative, then the nearest one inside. In Python's integers: none overflows."""
    values = [int(i) + size if i < 0 else int(i) for i in index.ravel()]
    return np.array([min(max(i, 0), size - 1) for i in values], np.int64).reshape(index.shape)


def takes(rng, dtype):
    yield Case([seasoned(rng, (3, 5), dtype), indices(rng, (2, 4), 5)], {"axis": 1}, every_way=True)
    yield Case([seasoned(rng, (4,), dtype), indices(rng, (), 4)], {"axis": 0})
    yield Case([seasoned(rng, (4, 0), dtype), indices(rng, (3,), 4)], {"axis": 0})
    yield Case([seasoned(rng, (4, 2), dtype), indices(rng, (0,), 4)], {"axis": 0})
    yield Case([seasoned(rng, (1000, 33), dtype), indices(rng, (4000,), 1000)], {"axis": 0}, note="large")
    for name in INTEGERS:
        yield Case([seasoned(rng, (6, 3), dtype), indices(rng, (9,), 6, name)], {"axis": -2})
    for n in WIDTHS:
        yield Case([seasoned(rng, (n,), dtype), indices(rng, (n,), n)], {"axis": 0})
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 1, 4, 6)
        axis = int(rng.integers(0, len(shape)))
        yield Case(
            [seasoned(rng, shape, dtype), indices(rng, random_shape(rng, 0, 3, 5, True), shape[axis])],
            {"axis": signed_axis(rng, axis, len(shape))},
        )


@reference("take", dtypes=ALL, cases=takes)
def take(x, index, axis):
    return np.take(x, clamped(index, x.shape[axis]), axis)


def takes_along(rng, dtype):
    yield Case([seasoned(rng, (3, 5), dtype), indices(rng, (3, 2), 5)], {"axis": 1}, every_way=True)
    yield Case([seasoned(rng, (3, 5), dtype), indices(rng, (1, 7), 5)], {"axis": 1}, note="broadcast", every_way=True)
    yield Case([seasoned(rng, (1, 5), dtype), indices(rng, (4, 7), 5)], {"axis": -1}, note="broadcast")
    yield Case([seasoned(rng, (3, 5), dtype), indices(rng, (3, 0), 5)], {"axis": 1})
    yield Case([seasoned(rng, LARGE_2D, dtype), indices(rng, LARGE_2D, 1025)], {"axis": 1}, note="large")
    for name in INTEGERS:
        yield Case([seasoned(rng, (6, 3), dtype), indices(rng, (4, 3), 6, name)], {"axis": 0})
    for n in WIDTHS:
        yield Case([seasoned(rng, (n,), dtype), indices(rng, (n,), n)], {"axis": 0})
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 1, 4, 6)
        axis = int(rng.integers(0, len(shape)))
        x, index = ([n if rng.integers(0, 4) else 1 for n in shape] for _ in range(2))
        x[axis], index[axis] = shape[axis], int(rng.integers(0, 6))
        yield Case(
            [seasoned(rng, x, dtype), indices(rng, index, shape[axis])], {"axis": signed_axis(rng, axis, len(shape))}
        )


@reference("take_along_axis", dtypes=ALL, cases=takes_along)
def take_along_axis(x, index, axis):
    index = clamped(index, x.shape[axis])
    shape = list(np.broadcast_shapes(*(np.delete(a.shape, axis) for a in (x, index))))
    place = axis % x.ndim
    x = np.broadcast_to(x, [*shape[:place], x.shape[axis], *shape[place:]])
    index = np.broadcast_to(index, [*shape[:place], index.shape[axis], *shape[place:]])
    return np.take_along_axis(x, index, axis)


# --- slices


def start_operand(rng, start):
    """A dynamic start as a scalar or one element, of any real dtype that holds it."""
    fits = [
        d
        for d in REALS
        if d != "bool"
        and (np.issubdtype(numpy_dtype(d), np.integer) is False or np.iinfo(d).min <= start <= np.iinfo(d).max)
    ]
    small_floats = [d for d in fits if d in INTEGERS or abs(start) < 200]
    value = np.asarray(start).astype(numpy_dtype(str(rng.choice(small_floats))))
    return value.reshape((1,)) if rng.integers(0, 2) else value


def window(rng, shape, strided):
    """Attributes of a slice of x, some starts outside, some dynamic, with the operands of those."""
    lengths = [int(rng.integers(0, n + 1)) for n in shape]
    starts = [int(rng.choice([rng.integers(0, n + 1), -3, n + 3, 2**40, -(2**40)])) for n in shape]
    mask = int(rng.integers(0, 2 ** len(shape)))
    operands = [start_operand(rng, s) for i, s in enumerate(starts) if mask >> i & 1]
    static = [0 if mask >> i & 1 else max(min(s, 2**31 - 1), -(2**31)) for i, s in enumerate(starts)]
    attrs = {"dynamic_mask": mask, "input_shape": list(shape), "lengths": lengths, "starts": static}
    if strided:
        attrs["strides"] = [int(s) for s in rng.integers(1, 4, len(shape))]
    return attrs, operands


def slices(rng, dtype):
    attrs = {"input_shape": [5, 6], "lengths": [3, 4], "strides": [1, 2], "starts": [1, 9]}
    yield Case([seasoned(rng, (5, 6), dtype)], {"dynamic_mask": 0, **attrs}, every_way=True)
    yield Case([seasoned(rng, (5, 6), dtype), np.array(2, "int32")], {"dynamic_mask": 2, **attrs}, every_way=True)
    yield Case(
        [seasoned(rng, (), dtype)], {"dynamic_mask": 0, "input_shape": [], "lengths": [], "strides": [], "starts": []}
    )
    yield Case(
        [seasoned(rng, LARGE_2D, dtype), np.array(300, "int64")],
        {"dynamic_mask": 2, "input_shape": list(LARGE_2D), "lengths": [200, 701], "strides": [1, 3], "starts": [5, 0]},
        note="large",
    )
    for n in WIDTHS:
        yield Case(
            [seasoned(rng, (n + 2,), dtype)],
            {"dynamic_mask": 0, "input_shape": [n + 2], "lengths": [n], "strides": [1], "starts": [1]},
        )
    for _ in range(30 * EFFORT):
        shape = random_shape(rng, 1, 4, 9, True)
        attrs, operands = window(rng, shape, True)
        yield Case([seasoned(rng, shape, dtype), *operands], attrs)


def places(starts, shape, lengths, dynamic_mask, static):
    """The starts, clamped, of all axes."""
    dynamic = iter(
        int(np.trunc(s.astype(np.float64)).item()) if s.dtype.kind not in "iu" else int(s.item()) for s in starts
    )
    raw = [next(dynamic) if dynamic_mask >> i & 1 else static[i] for i in range(len(shape))]
    return [min(max(s, 0), n - length) for s, n, length in zip(raw, shape, lengths)]


@reference("slice", dtypes=ALL, cases=slices)
def slice_(x, *start, dynamic_mask, input_shape, lengths, strides, starts):
    at = places(start, x.shape, lengths, dynamic_mask, starts)
    return x[tuple(slice(s, s + n, k) for s, n, k in zip(at, lengths, strides))]


def put_slices(rng, dtype):
    attrs = {"input_shape": [5, 6], "lengths": [3, 4], "starts": [1, 9]}
    operands = [seasoned(rng, (5, 6), dtype), seasoned(rng, (3, 4), dtype)]
    yield Case(operands, {"dynamic_mask": 0, **attrs}, every_way=True)
    yield Case([*operands, np.array(2, "int32")], {"dynamic_mask": 2, **attrs}, every_way=True)
    yield Case(
        [seasoned(rng, LARGE_2D, dtype), seasoned(rng, (200, 701), dtype), np.array(300, "int64")],
        {"dynamic_mask": 2, "input_shape": list(LARGE_2D), "lengths": [200, 701], "starts": [5, 0]},
        note="large",
    )
    for other in ALL:
        yield Case(
            [seasoned(rng, (9,), dtype), seasoned(rng, (5,), other)],
            {"dynamic_mask": 0, "input_shape": [9], "lengths": [5], "starts": [3]},
            note="a cast",
        )
    for n in WIDTHS:
        yield Case(
            [seasoned(rng, (n + 2,), dtype), seasoned(rng, (n,), dtype)],
            {"dynamic_mask": 0, "input_shape": [n + 2], "lengths": [n], "starts": [1]},
        )
    for _ in range(20 * EFFORT):
        shape = random_shape(rng, 1, 4, 9, True)
        attrs, operands = window(rng, shape, False)
        yield Case([seasoned(rng, shape, dtype), seasoned(rng, attrs["lengths"], dtype), *operands], attrs)


@reference("put_slice", dtypes=ALL, cases=put_slices)
def put_slice(x, update, *start, dynamic_mask, input_shape, lengths, starts):
    at = places(start, x.shape, lengths, dynamic_mask, starts)
    out = x.copy()
    out[tuple(slice(s, s + n) for s, n in zip(at, lengths))] = through_float32(update, name_of(x))
    return out


def through_float32(x, name):
    """A cast; wide values reach 16-bit floats by way of float32."""
    if name in ("float16", "bfloat16") and (name_of(x) == "float64" or x.dtype.kind in "iu"):
        x = x.astype(np.float32)
    return cast(x, name)


# --- gathers and scatters


def index_columns(rng, batch, sizes):
    name = str(rng.choice(INTEGERS))
    columns = [indices(rng, batch, n, name) for n in sizes]
    return np.stack(columns, -1) if columns else np.zeros((*batch, 0), name)


def gathers(rng, dtype):
    def case(shape, axes, block, batch, **kwargs):
        sizes = [1 if a in axes else n for a, n in enumerate(block)]
        out = [*batch, *(n for a, n in enumerate(sizes) if a not in axes)]
        named = [signed_axis(rng, a, len(shape)) for a in axes]
        index = index_columns(rng, batch, [shape[a] for a in axes])
        return Case(
            [seasoned(rng, shape, dtype), index],
            {"axes": named, "slice_sizes": sizes, "shape": [int(n) for n in out]},
            **kwargs,
        )

    yield case((3, 4), [0, 1], (3, 4), (5,), every_way=True)
    yield case((2, 3, 4), [2, 0], (2, 3, 4), (2, 2), every_way=True)
    yield case((3, 4), [0], (3, 4), ())
    yield case((3, 4), [1], (2, 4), (3,), note="blocks smaller than the axis")
    yield case((3, 4), [1], (3, 4), (0,))
    yield case((500, 40), [0], (500, 40), (3000,), note="large")
    for n in WIDTHS:
        yield case((n,), [0], (n,), (n,))
        yield case((3, n), [0], (3, n), (2,))
    for _ in range(16 * EFFORT):
        shape = random_shape(rng, 1, 4, 6)
        axes = distinct_axes(rng, len(shape), int(rng.integers(1, len(shape) + 1)))
        yield case(shape, axes, [int(rng.integers(1, n + 1)) for n in shape], random_shape(rng, 0, 3, 4, True))


@reference("gather", dtypes=ALL, cases=gathers)
def gather(x, index, axes, slice_sizes, shape):
    batch = index.shape[:-1]
    out = np.empty((*batch, *slice_sizes), x.dtype)
    columns = [clamped(index[..., j], x.shape[a]) for j, a in enumerate(axes)]
    for place in np.ndindex(*batch):
        starts = [0] * x.ndim
        for column, a in zip(columns, axes):
            starts[a] = int(column[place])
        out[place] = x[tuple(slice(s, s + n) for s, n in zip(starts, slice_sizes))]
    return out.reshape(shape)


def scatters(draw):
    def cases(rng, dtype):
        def case(shape, axes, block, batch, other=dtype, **kwargs):
            sizes = [1 if a in axes else n for a, n in enumerate(block)]
            named = [signed_axis(rng, a, len(shape)) for a in axes]
            index = index_columns(rng, batch, [shape[a] for a in axes])
            updates = draw(rng, [*batch, *(n for a, n in enumerate(sizes) if a not in axes)], other)
            return Case(
                [draw(rng, shape, dtype), index, updates], {"axes": named, "updates_shape": [*batch, *sizes]}, **kwargs
            )

        yield case((3, 4), [0, 1], (3, 4), (5,), every_way=True)
        yield case((2, 3, 4), [2, 0], (2, 3, 4), (2, 2), every_way=True)
        yield case((3, 4), [0], (3, 4), ())
        yield case((3, 4), [1], (2, 4), (3,), note="blocks smaller than the axis")
        yield case((3, 4), [1], (3, 4), (0,))
        yield case((500, 40), [0], (500, 40), (1500,), note="large")
        yield case((3,), [0], (3,), (40,), note="places that occur often")
        for other in ALL:
            if not (other in COMPLEX and dtype not in COMPLEX):
                yield case((4, 3), [0], (4, 3), (6,), other=other, note="a cast")
        for n in WIDTHS:
            yield case((n,), [0], (n,), (n,))
            yield case((3, n), [0], (3, n), (2,))
        for _ in range(12 * EFFORT):
            shape = random_shape(rng, 1, 4, 6)
            axes = distinct_axes(rng, len(shape), int(rng.integers(1, len(shape) + 1)))
            yield case(shape, axes, [int(rng.integers(1, n + 1)) for n in shape], random_shape(rng, 0, 3, 4, True))

    return cases


def scatter(x, index, updates, axes, updates_shape, write):
    """Calls write(place, block) for each block whose indices are inside."""
    batch = index.shape[:-1]
    updates = through_float32(updates, name_of(x)).reshape(updates_shape)
    sizes = updates_shape[len(batch) :]
    for place in np.ndindex(*batch):
        starts = [0] * x.ndim
        for j, a in enumerate(axes):
            i = int(index[place][j])
            starts[a] = i + x.shape[a] if i < 0 else i
        if all(0 <= starts[a] < x.shape[a] for a in axes):
            write(tuple(slice(s, s + n) for s, n in zip(starts, sizes)), updates[place])


def adding_tolerance(name, operands):
    return Tolerance(0.51, "places that occur often add up in any order, 16-bit floats in float32", carried=16)


@reference("indexed_add", dtypes=ALL, cases=scatters(ordinary), tolerance=adding_tolerance)
def indexed_add(x, index, updates, axes, updates_shape):
    if x.dtype == bool:
        out = x.copy()
        scatter(x, index, updates, axes, updates_shape, lambda at, block: np.logical_or.at(out, at, block))
        return out
    if x.dtype.kind in "iu":
        out = x.copy()
        scatter(x, index, updates, axes, updates_shape, lambda at, block: np.add.at(out, at, block))
        return out
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    out, scale = x.astype(wide), magnitudes(x.astype(wide))

    def write(at, block):
        out[at] += block.astype(wide)
        scale[at] += magnitudes(block.astype(wide))

    scatter(x, index, updates, axes, updates_shape, write)
    return scaled(out, scale)


@reference("indexed_put", dtypes=ALL, cases=scatters(seasoned))
def indexed_put(x, index, updates, axes, updates_shape):
    out = x.copy()
    scatter(x, index, updates, axes, updates_shape, lambda at, block: out.__setitem__(at, block))
    return out


test_op = conformance_tests(__name__)
