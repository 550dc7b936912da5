"""Linear algebra. What is not unique, such as the signs of factors, is judged by what the factors have to satisfy."""

import numpy as np
import pytest

import ways
from dtypes import numpy_dtype, real_part
from framework import EFFORT, Tolerance, conformance_tests, generator, reference, scaled, skip_where_missing
from operands import ordinary
from ways import Case

TWO = ("float32", "float64")
THREE = (*TWO, "complex64")
SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 65)


def rounding(carried):
    return Tolerance(2, "rounding grows with the size of the matrix, relative to its norm", carried=carried)


def wider(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def batches(rng):
    return tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


def against(value, size=None):
    """A value to be judged relative to its largest element, or to `size`."""
    value = np.asarray(value)
    return scaled(value, np.full(value.shape, np.max(np.abs(value), initial=0) if size is None else size, np.float64))


def square(rng, batch, n, dtype):
    """A matrix whose condition is small."""
    return (ordinary(rng, (*batch, n, n), dtype, -1, 1) + 2 * n * np.eye(n)).astype(numpy_dtype(dtype))


def one_matrix(make):
    def cases(rng, dtype):
        yield Case([make(rng, (), 4, dtype)], every_way=True, repeatable=False)
        yield Case([make(rng, (2, 3), 3, dtype)], every_way=True, repeatable=False, note="a batch")
        yield Case([make(rng, (0,), 3, dtype)], repeatable=False)
        yield Case([make(rng, (), 0, dtype)], repeatable=False)
        yield Case([make(rng, (), 150, dtype)], repeatable=False, note="large")
        for n in SIZES:
            yield Case([make(rng, (), n, dtype)], repeatable=False)
        for _ in range(6 * EFFORT):
            yield Case([make(rng, batches(rng), int(rng.integers(1, 9)), dtype)], repeatable=False)

    return cases


def lower_of_positive(rng, batch, n, dtype):
    """A positive definite matrix in the lower triangle, anything above it."""
    a = ordinary(rng, (*batch, n, n), "float64", -1, 1)
    a = a @ adjoint(a) + n * np.eye(n)
    return (np.tril(a) + np.triu(ordinary(rng, a.shape, "float64", -99, 99), 1)).astype(numpy_dtype(dtype))


@reference("cholesky", dtypes=TWO, cases=one_matrix(lower_of_positive), tolerance=rounding(64))
def cholesky(a):
    lower = np.tril(wider(a))
    return against(np.linalg.cholesky(lower + adjoint(np.tril(lower, -1))))


def systems(make):
    def cases(rng, dtype):
        def case(batch, n, columns, **kwargs):
            b = ordinary(rng, (*batch, n) if columns is None else (*batch, n, columns), dtype)
            a, attrs = make(rng, batch, n, dtype)
            return Case([a, b], attrs, repeatable=False, **kwargs)

        yield case((), 4, None, every_way=True)
        yield case((2,), 3, 5, every_way=True, note="a batch")
        yield case((), 3, 0)
        yield case((0,), 3, 2)
        yield case((), 150, 7, note="large")
        for n in SIZES:
            yield case((), n, None)
            yield case((), n, 2)
        for _ in range(8 * EFFORT):
            yield case(batches(rng), int(rng.integers(1, 9)), int(rng.integers(1, 5)))

    return cases


@reference("solve", dtypes=TWO, cases=systems(lambda *at: (square(*at), {})), tolerance=rounding(64))
def solve(a, b):
    if b.ndim == a.ndim - 1:
        return against(np.linalg.solve(wider(a), wider(b)[..., None])[..., 0])
    return against(np.linalg.solve(wider(a), wider(b)))


def triangular(rng, batch, n, dtype):
    """The named triangle, anything in the other."""
    a, upper = square(rng, batch, n, dtype), bool(rng.integers(0, 2))
    other = ordinary(rng, a.shape, dtype, -99, 99)
    return np.where(np.triu(np.ones((n, n)), 0 if upper else 1) == upper, a, other).astype(a.dtype), {"upper": upper}


@reference("solve_triangular", dtypes=TWO, cases=systems(triangular), tolerance=rounding(64))
def solve_triangular(a, b, upper):
    return solve(np.triu(a) if upper else np.tril(a), b)


def rectangles(rng, dtype):
    def case(batch, m, n, **kwargs):
        return Case([ordinary(rng, (*batch, m, n), dtype, -1, 1)], repeatable=False, **kwargs)

    yield case((), 5, 3, every_way=True)
    yield case((2,), 3, 4, every_way=True, note="a batch")
    yield case((0,), 3, 2)
    yield case((), 60, 110, note="large")
    yield case((), 110, 60, note="large")
    yield Case([np.zeros((4, 3), numpy_dtype(dtype))], repeatable=False, note="rank 0")
    yield Case([np.ones((4, 4), numpy_dtype(dtype))], repeatable=False, note="rank 1")
    for n in SIZES:
        yield case((), n, n)
        yield case((), n, 2)
    for _ in range(8 * EFFORT):
        m, n = (int(k) for k in rng.integers(1, 9, 2))
        yield case(batches(rng), m, n)


def identity(batch, n):
    return against(np.broadcast_to(np.eye(n), (*batch, n, n)), 1)


def norm(a):
    return float(np.max(np.abs(a), initial=1e-3)) * max(a.shape[-2:])


def same_twice(names, attrs):
    return [names[0]] * 2


def observe_qr(case, results):
    q, r = map(wider, results)
    return [x.astype(results[0].dtype) for x in (q @ r, adjoint(q) @ q, np.tril(r, -1))]


@reference("qr", dtypes=TWO, cases=rectangles, result=same_twice, tolerance=rounding(16), observe=observe_qr)
def qr(a):
    k = min(a.shape[-2:])
    below = np.zeros((*a.shape[:-2], k, a.shape[-1]))
    return [against(wider(a), norm(a)), identity(a.shape[:-2], k), below]


def lower_of_hermitian(rng, batch, n, dtype):
    a = ordinary(rng, (*batch, n, n), dtype, -1, 1)
    a = np.tril(a) + np.triu(ordinary(rng, a.shape, dtype, -99, 99), 1)
    if dtype == "complex64":
        a[..., range(n), range(n)] = a[..., range(n), range(n)].real
    return a.astype(numpy_dtype(dtype))


def eigh_types(names, attrs):
    return [real_part(names[0]), names[0]]


def observe_eigh(case, results):
    w, v = wider(results[0]), wider(results[1])
    return [results[0], *(x.astype(results[1].dtype) for x in ((v * w[..., None, :]) @ adjoint(v), adjoint(v) @ v))]


@reference(
    "eigh",
    dtypes=THREE,
    cases=one_matrix(lower_of_hermitian),
    result=eigh_types,
    tolerance=rounding(32),
    observe=observe_eigh,
)
def eigh(a):
    lower = np.tril(wider(a))
    whole = lower + adjoint(np.tril(lower, -1))
    return [
        against(np.linalg.eigvalsh(whole), norm(whole)),
        against(whole, norm(whole)),
        identity(a.shape[:-2], a.shape[-1]),
    ]


def svd_types(names, attrs):
    return [names[0], real_part(names[0]), names[0]]


def observe_svd(case, results):
    u, s, vt = map(wider, results)
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vt[..., :k, :]
    return [results[1], *(x.astype(results[0].dtype) for x in (product, adjoint(u) @ u, vt @ adjoint(vt)))]


@reference("svd", dtypes=THREE, cases=rectangles, result=svd_types, tolerance=rounding(32), observe=observe_svd)
def svd(a):
    m, n = a.shape[-2:]
    return [
        against(np.linalg.svd(wider(a), compute_uv=False), norm(a)),
        against(wider(a), norm(a)),
        identity(a.shape[:-2], m),
        identity(a.shape[:-2], n),
    ]


def lu_types(names, attrs):
    return ["uint32", names[0], names[0]]


def observe_lu(case, results):
    p, lower, upper = results
    rows = np.take_along_axis(lower, p[..., None].astype(np.int64), -2)
    product = (wider(rows) @ wider(upper)).astype(lower.dtype)
    return [np.sort(p, -1), product, np.triu(lower), np.tril(upper, -1)]


@reference("lu", dtypes=TWO, cases=rectangles, result=lu_types, tolerance=rounding(16), observe=observe_lu)
def lu(a):
    m, n = a.shape[-2:]
    k = min(m, n)
    rows = np.broadcast_to(np.arange(m, dtype=np.uint32), (*a.shape[:-2], m))
    return [
        rows,
        against(wider(a), norm(a)),
        np.broadcast_to(np.eye(m, k), (*a.shape[:-2], m, k)),
        np.zeros((*a.shape[:-2], k, n)),
    ]


REFUSED = [
    ("cholesky", {}, [np.zeros((2, 2))], "not positive definite"),
    ("cholesky", {}, [np.array([[1.0, 0], [0, -1]])], "not positive definite"),
    ("solve", {}, [np.ones((2, 2)), np.ones(2)], "singular"),
    ("solve_triangular", {"upper": True}, [np.array([[1.0, 2], [0, 0]]), np.ones(2)], "singular"),
]


@pytest.mark.parametrize("dtype", TWO)
@pytest.mark.parametrize("op, attrs, operands, says", REFUSED, ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSED)])
def test_refused_values(op, attrs, operands, says, dtype):
    """Values that have no result end the run; the next run goes well."""
    skip_where_missing(dtype)
    rng = generator(op, dtype)
    bad = Case([a.astype(dtype) for a in operands], attrs)
    with pytest.raises(ways.Error, match=says):
        ways.plain(op, bad, rng, None)
    good = Case([np.eye(2, dtype=dtype), *bad.operands[1:]], attrs)
    seen, name = ways.values_of(ways.plain(op, good, rng, None)[0])
    assert name == dtype and np.array_equal(seen, good.operands[-1])


test_op = conformance_tests(__name__)
