"""Shape, movement and creation."""

import numpy as np

from dtypes import ALL, COMPLEX, HALVES, cast, name_of, numpy_dtype, promote
from framework import EFFORT, conformance_tests, promoted, reference
from operands import LARGE_2D, distinct_axes, ordinary, random_shape, seasoned, shapes, signed_axis, some_axes
from ways import Case


def divisors(rng, n):
    """A random shape of n elements."""
    shape = []
    while n > 1:
        factors = [k for k in range(2, n + 1) if n % k == 0]
        k = int(rng.choice(factors))
        shape.append(k)
        n //= k
    for _ in range(int(rng.integers(0, 3))):
        shape.insert(int(rng.integers(0, len(shape) + 1)), 1)
    return shape


def reshapes(rng, dtype):
    def case(shape, target, **kwargs):
        if target and 0 not in target and rng.integers(0, 2):
            target = list(target)
            target[int(rng.integers(0, len(target)))] = -1
        return Case([seasoned(rng, shape, dtype)], {"shape": [int(n) for n in target]}, **kwargs)

    yield case((3, 4, 5), [5, 12], every_way=True)
    yield case((), [1, 1])
    yield case((1, 1), [])
    yield case((0, 3), [2, 0, 5])
    yield case(LARGE_2D, [1025, 257], note="large")
    for shape in shapes(rng, 6 * EFFORT):
        n = int(np.prod(shape))
        yield case(shape, divisors(rng, n) if n else [0, 4])


@reference("reshape", dtypes=ALL, cases=reshapes)
def reshape(x, shape):
    return np.reshape(x, shape)


def squeezes(rng, dtype):
    yield Case([seasoned(rng, (1, 3, 1), dtype)], {"axes": [0, -1]}, every_way=True)
    yield Case([seasoned(rng, (1, 3, 1), dtype)], {"axes": []}, note="no axes")
    yield Case([seasoned(rng, (1, 0), dtype)], {"axes": [0]})
    yield Case([seasoned(rng, (1,), dtype)], {"axes": [0]})
    yield Case([seasoned(rng, (1, *LARGE_2D), dtype)], {"axes": [0]}, note="large")
    for _ in range(12 * EFFORT):
        shape = [n if rng.integers(0, 2) else 1 for n in random_shape(rng, 0, 5)]
        ones = [i for i, n in enumerate(shape) if n == 1]
        axes = [signed_axis(rng, i, len(shape)) for i in ones if rng.integers(0, 2)]
        yield Case([seasoned(rng, shape, dtype)], {"axes": axes})


@reference("squeeze", dtypes=ALL, cases=squeezes)
def squeeze(x, axes):
    return np.squeeze(x, tuple(axes)) if axes else x


def transposes(rng, dtype):
    yield Case([seasoned(rng, (2, 3, 4), dtype)], {"axes": [2, 0, 1]}, every_way=True)
    yield Case([seasoned(rng, LARGE_2D, dtype)], {"axes": [1, 0]}, note="large")
    for shape in shapes(rng, 10 * EFFORT):
        axes = [signed_axis(rng, a, len(shape)) for a in rng.permutation(len(shape))]
        yield Case([seasoned(rng, shape, dtype)], {"axes": axes})


@reference("transpose", dtypes=ALL, cases=transposes)
def transpose(x, axes):
    return np.transpose(x, axes)


def broadcasts(rng, dtype):
    yield Case([seasoned(rng, (2, 1, 4), dtype)], {"shape": [5, 2, 3, 4], "axes": [1, 2, 3]}, every_way=True)
    yield Case([seasoned(rng, (), dtype)], {"shape": [2, 3], "axes": []}, every_way=True)
    yield Case([seasoned(rng, (2,), dtype)], {"shape": [2, 3], "axes": [0]})
    yield Case([seasoned(rng, (2, 3), dtype)], {"shape": [3, 2], "axes": [1, 0]}, note="axes that do not increase")
    yield Case([seasoned(rng, (0, 1), dtype)], {"shape": [0, 4], "axes": [0, 1]})
    yield Case([seasoned(rng, (), dtype)], {"shape": [], "axes": []})
    yield Case([seasoned(rng, (1025,), dtype)], {"shape": list(LARGE_2D), "axes": [1]}, note="large")
    for _ in range(16 * EFFORT):
        shape = random_shape(rng, 0, 5, 5, empty=bool(rng.integers(0, 5) == 0))
        axes = sorted(distinct_axes(rng, len(shape), int(rng.integers(0, len(shape) + 1))))
        x = [shape[a] if rng.integers(0, 3) else 1 for a in axes]
        yield Case(
            [seasoned(rng, x, dtype)], {"shape": list(shape), "axes": [signed_axis(rng, a, len(shape)) for a in axes]}
        )


@reference("broadcast", dtypes=ALL, cases=broadcasts)
def broadcast(x, shape, axes):
    # Data keep their row-major order whatever the order of the axes.
    laid = np.ones(len(shape), int)
    laid[list(axes)] = x.shape
    return np.broadcast_to(x.reshape(laid), shape)


def pads(rng, dtype):
    def case(shape, low, high, interior, other=dtype, **kwargs):
        attrs = {"low": low, "high": high, "interior": interior}
        return Case([seasoned(rng, shape, dtype), ordinary(rng, (), other)], attrs, **kwargs)

    yield case((3, 4), [1, 0], [2, 3], [0, 0], every_way=True)
    yield case((3, 4), [-1, 2], [2, -1], [1, 2], note="negative and interior", every_way=True)
    yield case((), [], [], [])
    yield case((0,), [2], [1], [3])
    yield case((1,), [0], [0], [3])
    yield case((5,), [-2], [-3], [0], note="nothing is left")
    yield case(LARGE_2D, [1, -1], [0, 3], [0, 1], note="large")
    for n in (7, 8, 9, 31, 32, 33):
        yield case((n,), [1], [1], [1])
    for other in ALL:
        if not (dtype not in COMPLEX and other in COMPLEX):
            yield case((2, 3), [1, 1], [0, 1], [1, 0], other=other)
    for _ in range(12 * EFFORT):
        shape = random_shape(rng, 1, 4, 5)
        interior = [int(k) for k in rng.integers(0, 3, len(shape))]
        spread = [(n - 1) * (k + 1) + 1 for n, k in zip(shape, interior)]
        low = [int(rng.integers(-n, 4)) for n in spread]
        high = [int(rng.integers(-(n + min(lo, 0)), 4)) for n, lo in zip(spread, low)]
        yield case(shape, low, high, interior)


@reference("pad", dtypes=ALL, cases=pads)
def pad(x, value, low, high, interior):
    value = cast(value, name_of(x))
    for axis, (lo, hi, k) in enumerate(zip(low, high, interior)):
        n = x.shape[axis]
        spread = np.full(
            (*x.shape[:axis], max((n - 1) * (k + 1) + 1, 0) if n else 0, *x.shape[axis + 1 :]), value, x.dtype
        )
        at = (slice(None),) * axis
        spread[(*at, slice(None, None, k + 1))] = x
        spread = spread[(*at, slice(max(-lo, 0), spread.shape[axis] + min(hi, 0)))]
        edges = [(0, 0)] * x.ndim
        edges[axis] = (max(lo, 0), max(hi, 0))
        x = np.pad(
            spread.view(np.uint16) if name_of(x) == "bfloat16" else spread,
            edges,
            constant_values=value.view(np.uint16) if name_of(x) == "bfloat16" else value,
        ).view(spread.dtype)
    return x


def reverses(rng, dtype):
    yield Case([seasoned(rng, (2, 3, 4), dtype)], {"axes": [0, -1]}, every_way=True)
    yield Case([seasoned(rng, (2, 3), dtype)], {"axes": []}, note="no axes")
    yield Case([seasoned(rng, LARGE_2D, dtype)], {"axes": [1]}, note="large")
    for shape in shapes(rng, 8 * EFFORT):
        yield Case([seasoned(rng, shape, dtype)], {"axes": some_axes(rng, len(shape))})


@reference("reverse", dtypes=ALL, cases=reverses)
def reverse(x, axes):
    return np.flip(x, tuple(axes)) if axes else x


def joined(rng, dtype, shape, axis, count, vary):
    """`count` operands whose dtypes promote, equal in shape but along `axis` if `vary`."""
    operands = []
    for i in range(count):
        size = list(shape)
        if vary:
            size[axis] = int(rng.integers(0, 6))
        name = dtype if i == 0 or rng.integers(0, 2) else str(rng.choice(ALL))
        operands.append(seasoned(rng, size, name))
    return operands


def concatenations(rng, dtype):
    yield Case([seasoned(rng, (2, 3), dtype), seasoned(rng, (4, 3), dtype)], {"axis": 0}, every_way=True)
    yield Case([seasoned(rng, (2, 3), dtype)], {"axis": -1}, note="one operand")
    yield Case([seasoned(rng, (0,), dtype), seasoned(rng, (0,), dtype)], {"axis": 0})
    yield Case([seasoned(rng, (100, 500), dtype), seasoned(rng, (100, 600), dtype)], {"axis": 1}, note="large")
    for other in ALL:
        yield Case([seasoned(rng, (3,), dtype), seasoned(rng, (4,), other)], {"axis": 0})
    for n in (7, 8, 9, 16, 31, 33, 64):
        yield Case([seasoned(rng, (n,), dtype), seasoned(rng, (n + 1,), dtype)], {"axis": 0})
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 1, 4, 5)
        axis = int(rng.integers(0, len(shape)))
        operands = joined(rng, dtype, shape, axis, int(rng.integers(1, 6)), True)
        yield Case(operands, {"axis": signed_axis(rng, axis, len(shape))})


def together(xs):
    target = numpy_dtype(promote(*map(name_of, xs)))
    return [x.astype(target) for x in xs]


@reference("concatenate", dtypes=ALL, cases=concatenations, result=promoted)
def concatenate(*xs, axis):
    return np.concatenate(together(xs), axis)


def stacks(rng, dtype):
    yield Case([seasoned(rng, (2, 3), dtype), seasoned(rng, (2, 3), dtype)], {"axis": 1}, every_way=True)
    yield Case([seasoned(rng, (), dtype), seasoned(rng, (), dtype)], {"axis": 0})
    yield Case([seasoned(rng, (0, 2), dtype)] * 2, {"axis": -1})
    yield Case([seasoned(rng, LARGE_2D, dtype), seasoned(rng, LARGE_2D, dtype)], {"axis": 2}, note="large")
    for other in ALL:
        yield Case([seasoned(rng, (3,), dtype), seasoned(rng, (3,), other)], {"axis": 0})
    for _ in range(10 * EFFORT):
        shape = random_shape(rng, 0, 3, 5)
        axis = int(rng.integers(0, len(shape) + 1))
        operands = joined(rng, dtype, shape, axis, int(rng.integers(1, 6)), False)
        yield Case(operands, {"axis": signed_axis(rng, axis, len(shape) + 1)})


@reference("stack", dtypes=ALL, cases=stacks, result=promoted)
def stack(*xs, axis):
    return np.stack(together(xs), axis)


# --- creation


def named(names, attrs):
    return attrs["dtype"]


def iotas(rng, dtype):
    def case(axis, shape, **kwargs):
        return Case([], {"dtype": dtype, "axis": axis, "shape": [int(n) for n in shape]}, **kwargs)

    yield case(-1, [2, 3], every_way=True)
    yield case(0, [2, 3])
    yield case(-1, [])
    yield case(-1, [0, 4])
    yield case(-1, [70001], note="large, beyond 16 bits")
    yield case(1, [3, 40001], note="large")
    for n in (255, 256, 257, 300, 2049):
        yield case(-1, [n], note="beyond the digits of the dtype")
    for shape in shapes(rng, 6 * EFFORT):
        yield case(int(rng.integers(-1, len(shape))) if shape else -1, shape)


@reference("iota", dtypes=ALL, cases=iotas, result=named, refused=())
def iota(dtype, axis, shape):
    if axis < 0:
        count = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    else:
        count = np.broadcast_to(
            np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
        )
    if dtype in HALVES:
        count = count.astype(np.float32)
    return cast(count, dtype)


def eyes(rng, dtype):
    yield Case([], {"dtype": dtype, "rows": 3, "columns": 4}, every_way=True)
    for rows, columns in [(1, 1), (4, 3), (0, 2), (2, 0), (0, 0), (17, 17), (300, 401)]:
        yield Case([], {"dtype": dtype, "rows": rows, "columns": columns})
    for rows, columns in rng.integers(0, 70, (5 * EFFORT, 2)):
        yield Case([], {"dtype": dtype, "rows": int(rows), "columns": int(columns)})


@reference("eye", dtypes=ALL, cases=eyes, result=named, refused=())
def eye(dtype, rows, columns):
    return np.eye(rows, columns).astype(numpy_dtype(dtype))


test_op = conformance_tests(__name__)
