"""Values, shapes and memory layouts of operands."""

import numpy as np

from dtypes import BITS, COMPLEX, INTEGERS, finfo, numpy_dtype

# Sizes next to the widths of vector registers and of the loops around them.
WIDTHS = (1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)


def random_shape(rng, low=0, high=4, most=7, empty=False):
    """A rank of low..high and sizes of 1..most; with `empty` a size may be 0."""
    rank = int(rng.integers(low, high + 1))
    return tuple(int(n) for n in rng.integers(0 if empty else 1, most + 1, rank))


def special(dtype):
    """Values at the edges of a dtype, one-dimensional."""
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(target)
        values = {
            0,
            1,
            2,
            3,
            5,
            7,
            100,
            info.max,
            info.max - 1,
            info.max // 2,
            info.max // 2 + 1,
            info.min,
            info.min + 1,
        }
        if info.min < 0:
            values |= {-1, -2, -3, -7, -100}
        return np.array(sorted(values), target)
    if dtype == "complex64":
        parts = np.array([0, -0.0, 1, -1.5, 3e38, 1e-40, np.inf, -np.inf, np.nan], np.float32)
        return _pairs(parts)
    info = finfo(dtype)
    positive = [
        0.0,
        1,
        0.5,
        1.5,
        2,
        2.5,
        3,
        7,
        10,
        0.1,
        0.25,
        1 / 3,
        np.pi,
        np.pi / 2,
        np.e,
        20,
        88,
        100,
        709,
        1e4,
        60000,
        float(info.eps),
        1 + float(info.eps),
        1 - float(info.eps) / 2,
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
        float(info.tiny) - float(info.smallest_subnormal),
        float(info.smallest_subnormal) * 3,
        np.inf,
    ]
    positive = np.array(positive).astype(target)
    return np.concatenate([positive, -positive, np.array([np.nan]).astype(target)])


def _pairs(parts):
    out = np.empty((len(parts), len(parts)), np.complex64)
    out.real = parts[:, None]
    out.imag = parts[None, :]
    return out.ravel()


def ordinary(rng, shape, dtype, low=-4.0, high=4.0):
    """Values that no op minds: floats in [low, high), integers of which half are small and half use the whole range."""
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(target)
        whole = rng.integers(info.min, info.max, shape, dtype=target, endpoint=True)
        small = rng.integers(max(info.min, -9), 10, shape, dtype=target)
        return np.asarray(np.where(rng.integers(0, 2, shape) == 1, whole, small), target)
    if dtype == "complex64":
        return np.asarray(rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape), target)
    return np.asarray(rng.uniform(low, high, shape)).astype(target)


def small(rng, shape, dtype, low=-9, high=9):
    """Whole numbers of low..high in any dtype; unsigned ones start at 0."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("uint"):
        low = max(low, 0)
    values = rng.integers(low, high + 1, shape)
    if dtype == "complex64":
        values = values + 1j * rng.integers(low, high + 1, shape)
    return np.asarray(values).astype(numpy_dtype(dtype))


def seasoned(rng, shape, dtype):
    """Ordinary values with special ones strewn in."""
    values = ordinary(rng, shape, dtype)
    edges = rng.choice(special(dtype), shape)
    return np.asarray(np.where(rng.random(shape) < 0.3, edges, values), numpy_dtype(dtype))


def distinct_axes(rng, rank, count):
    return [int(a) for a in rng.permutation(rank)[:count]]


def some_axes(rng, rank):
    """A random set of axes, as often negative as not."""
    axes = distinct_axes(rng, rank, int(rng.integers(0, rank + 1)))
    return [signed_axis(rng, a, rank) for a in axes]


def signed_axis(rng, axis, rank):
    """The axis, or the same one counted from the end."""
    return int(axis) - rank if rng.integers(0, 2) else int(axis)


def shapes(rng, count):
    """What every op of any shape meets: scalars, vector widths, empty and ordinary shapes, `count` random ones."""
    yield ()
    for n in WIDTHS:
        yield (n,)
    yield from [(0,), (3, 0), (0, 5, 2), (2, 3), (1, 1, 1), (3, 1, 5), (2, 3, 4, 5), (33, 17)]
    for _ in range(count):
        yield random_shape(rng, 1, 5, 6)


def magnitudes(x):
    """Absolute values, of complex numbers those of each part."""
    if not np.iscomplexobj(x):
        return np.abs(x)
    out = np.empty_like(x)
    out.real, out.imag = np.abs(x.real), np.abs(x.imag)
    return out


def broadcastable(rng):
    """Two shapes that broadcast."""
    shape = random_shape(rng, 0, 4, 6)
    a, b = ([n if rng.integers(0, 4) else 1 for n in shape] for _ in range(2))
    return tuple(a[rng.integers(0, len(a) + 1) :]), tuple(b)


def factors(rng, shape, dtype):
    """Numbers whose product stays within the range for some hundred of them."""
    if dtype in BITS:
        return ordinary(rng, shape, dtype)
    if dtype in COMPLEX:
        return (rng.uniform(0.97, 1.03, shape) * np.exp(1j * rng.uniform(-3, 3, shape))).astype(np.complex64)
    return np.asarray(rng.uniform(0.97, 1.03, shape) * rng.choice([-1, 1], shape)).astype(numpy_dtype(dtype))


def ties(rng, shape, dtype):
    """Few distinct values, special ones among them: many are equal."""
    if rng.integers(0, 2):
        return small(rng, shape, dtype, -1, 1)
    values = rng.choice(seasoned(rng, (4,), dtype), shape)
    return np.asarray(values, numpy_dtype(dtype))


def addends(rng, shape, dtype):
    """Values whose sums do not overflow on the way, in whatever order they add up, but for a few infinities and NaN."""
    values = seasoned(rng, shape, dtype)
    if dtype in BITS:
        return values
    huge = np.isfinite(values.astype(np.complex128)) & (np.abs(values) > float(finfo(dtype).max) / 1e4)
    special = ~np.isfinite(values.astype(np.complex128)) & (rng.random(shape) < 0.9)
    return np.asarray(np.where(huge | special, 1, values), values.dtype)


LARGE = (123457,)
LARGE_2D = (257, 1025)
