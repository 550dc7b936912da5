"""One reference expression for each op, in NumPy, SciPy or JAX, and the comparison of a run with it.

    @reference("negate", dtypes=NUMBERS, cases=unary)
    def negate(x):
        return -x

    test_ops = conformance_tests(__name__)

gives one pytest case for each dtype of `negate`. The reference sees the operands as NumPy arrays and the attributes by
name, and gives what the contract (docs/spec/ops.md) says; it knows nothing of Reprise's own code. Where an op rounds,
it computes in a wider type, and the tolerance says how far a result may be from that, in epsilons of its dtype.
"""

import itertools
import os
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Callable

import numpy as np
import pytest

import dtypes
from dtypes import finfo, floating, name_of, numpy_dtype, promote
from ways import DEVICE, REPEATED, WAYS, WITHOUT_OPERANDS, Case, Error, missing_device, plain, repeat, values_of

# A fixed seed by default, so that a failure is one of the change at hand; REPRISE_TEST_SEED=random draws one.
SEED = os.environ.get("REPRISE_TEST_SEED", "1")
SEED = int.from_bytes(os.urandom(4), "little") if SEED == "random" else int(SEED)
# Multiplies the number of random cases; 0 stands for the first case of each op and dtype alone, in every way.
EFFORT = int(os.environ.get("REPRISE_TEST_EFFORT", "1"))
FIRST = 1

# Prints the greatest error of each op and dtype in epsilons, which is where a tolerance comes from.
MEASURE = bool(os.environ.get("REPRISE_TEST_MEASURE"))
WORST: dict = {}


@dataclass(frozen=True)
class Tolerance:
    """|seen - wanted| <= epsilons * eps(dtype) * |wanted| + carried * eps(carrier) * scale + absolute.

    `scale` is what scaled() gives, such as the sum of the absolute terms; the carrier is the dtype in which terms add
    up: the result's own, float32 for 16-bit floats. Complex numbers are judged part by part, |wanted| being that of
    both parts together. Next to 0, the smallest positive number of the dtype stands in for eps * |wanted|.
    """

    epsilons: float = 0.0
    reason: str = "exact"
    absolute: float = 0.0
    carried: float = 0.0

    def __str__(self):
        terms = f", {self.carried:g} relative to the terms" if self.carried else ""
        return f"{self.epsilons:g} epsilons{terms} ({self.reason})"


EXACT = Tolerance()


class scaled:
    """A reference's value with the magnitude that its rounding is relative to, such as a sum's of absolute terms. A
    complex one holds those of the real and the imaginary parts."""

    def __init__(self, value, scale):
        self.value, self.scale = np.asarray(value), np.asarray(scale)


@dataclass(frozen=True)
class Reference:
    op: str
    module: str
    function: Callable
    dtypes: tuple
    cases: Callable  # (rng, dtype) -> Case...
    result: Callable  # (dtypes of the operands, attrs) -> dtype of the result or a list of them
    tolerance: Callable  # (dtype of the result, dtypes of the operands) -> Tolerance
    observe: Callable | None  # (operands, results) -> what is compared in place of the results
    signed_zeros: bool
    any_nan: bool  # a complex number with a NaN in either part stands for all such numbers
    refused: tuple  # dtypes of the first operand that must raise an error


REFERENCES: dict[str, Reference] = {}
COUNTS: Counter = Counter()


def same(names, attrs):
    return names[0]


def promoted(names, attrs):
    return promote(*names)


def floated(names, attrs):
    return floating(promote(*names))


def boolean(names, attrs):
    return "bool"


def reference(
    op, *, cases, dtypes, result=same, tolerance=EXACT, observe=None, signed_zeros=True, any_nan=False, refused=None
):
    """Registers the reference of `op` for operands of `dtypes`; others, or those in `refused`, must be refused.

    `tolerance` is one for all dtypes, a dict by the result's dtype, or a function of that and the operands' dtypes.
    """
    if isinstance(tolerance, Tolerance):
        of = lambda name, operands: tolerance  # noqa: E731
    elif isinstance(tolerance, dict):
        of = lambda name, operands: tolerance[name]  # noqa: E731
    else:
        of = tolerance

    def register(function):
        assert op not in REFERENCES, f"{op} has two references"
        left = tuple(d for d in ALL_DTYPES if d not in dtypes) if refused is None else tuple(refused)
        REFERENCES[op] = Reference(
            op, function.__module__, function, tuple(dtypes), cases, result, of, observe, signed_zeros, any_nan, left
        )
        return function

    return register


ALL_DTYPES = dtypes.ALL


# --- comparison


def compare(seen, wanted, dtype, tolerance, ref, label):
    """Fails with the worst element unless `seen` is `wanted` to within the tolerance."""
    scale = np.zeros(())
    if isinstance(wanted, scaled):
        wanted, scale = wanted.value, wanted.scale
    wanted = np.asarray(wanted)
    assert seen.shape == wanted.shape, f"{label}: the shape is {list(seen.shape)}, wanted {list(wanted.shape)}"
    if seen.dtype.kind != "c":
        compare_parts(seen, wanted, np.abs(wanted), scale, dtype, tolerance, ref.signed_zeros, label)
        return
    wanted = np.asarray(wanted, np.complex64 if tolerance == EXACT else np.clongdouble)
    if ref.any_nan:
        wanted = np.where(np.isnan(wanted) & np.isnan(seen), seen, wanted)
    for part in ("real", "imag"):
        compare_parts(
            getattr(seen, part),
            getattr(wanted, part),
            np.abs(wanted),
            getattr(scale, part) if np.iscomplexobj(scale) else scale,
            "float32",
            tolerance,
            ref.signed_zeros,
            f"{label}, {part} part",
        )


def compare_parts(seen, wanted, magnitude, scale, dtype, tolerance, signed_zeros, label):
    if numpy_dtype(dtype).kind in "biu":
        assert wanted.dtype.kind in "biu", f"{label}: the reference gives {wanted.dtype} for {dtype}"
        fail_at(seen != wanted.astype(numpy_dtype(dtype), copy=False), seen, wanted, "exactly", label)
        return
    seen, wanted = np.atleast_1d(seen), np.atleast_1d(wanted)
    rounded = wanted.astype(numpy_dtype(dtype))
    bad = (seen != rounded) & ((seen == seen) | (rounded == rounded))
    if tolerance == EXACT:
        if signed_zeros:
            bad |= (np.signbit(seen) != np.signbit(rounded)) & (seen == seen)
        fail_at(bad, seen, rounded, "exactly", label)
        return
    # Most elements are rounded rightly; only the others need the wide types.
    places = np.nonzero(bad)
    if not len(places[0]):
        return
    wider = np.longdouble if dtype == "float64" else np.float64
    s, w = seen[places].astype(wider), wanted[places].astype(wider)
    magnitude, scale = (np.broadcast_to(m, bad.shape)[places].astype(wider) for m in (magnitude, scale))
    info = finfo(dtype)
    eps, least, most = float(info.eps), float(info.smallest_subnormal), float(info.max)
    carrier = eps if dtype == "float64" else float(finfo("float32").eps)
    allowed = np.maximum(magnitude * (tolerance.epsilons * eps), least * max(tolerance.epsilons, 1))
    allowed = allowed + np.where(np.isfinite(scale), scale, 0) * (tolerance.carried * carrier) + tolerance.absolute
    error = np.abs(s - w)
    if MEASURE:
        if tolerance.carried:
            measure(label + "/terms", dtype, error - magnitude * (tolerance.epsilons * eps), scale * carrier, least)
        else:
            measure(label, dtype, error, magnitude * eps, least)
    # Next to the end of the range, one rounding decides between the greatest number and infinity.
    overflow = (np.abs(w) + allowed >= most) & np.isfinite(w) & np.isinf(s) & (np.signbit(s) == np.signbit(w))
    fine = (error <= allowed) & np.isfinite(w) | overflow
    ratio = np.where(np.isfinite(error), error / allowed, np.inf)
    bad[places] = ~fine
    if not np.all(fine):
        worst = int(np.argmax(np.where(fine, 0, ratio)))
        fail_at(
            bad,
            seen,
            wanted,
            f"to within {tolerance}, {float(ratio[worst]):.3g} times that",
            label,
            tuple(int(axis[worst]) for axis in places),
        )


def measure(label, dtype, error, unit, least):
    finite = np.isfinite(error) & np.isfinite(unit)
    if np.any(finite):
        epsilons = (np.where(finite, error, 0) / np.where(finite, np.maximum(unit, least), 1)).max()
        op = label.split()[1].split("[")[0] + ("/terms" if label.endswith("/terms") else "")
        WORST[op, dtype] = max(WORST.get((op, dtype), 0.0), float(epsilons))


def fail_at(bad, seen, wanted, how, label, place=None):
    """Fails, naming the element at `place` or the first bad one, if there is any."""
    if not np.any(bad):
        return
    if place is None:
        place = tuple(int(i) for i in np.argwhere(bad)[0])
    pytest.fail(
        f"{label}: element {list(place)} is {seen[place]!r}, wanted {wanted[place]!r} {how}; "
        f"{int(np.count_nonzero(bad))} of {bad.size} elements differ",
        pytrace=False,
    )


# --- running


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def expected(ref, case):
    """The reference's values and the dtypes of the results."""
    values = as_list(ref.function(*case.operands, **case.attrs, **case.extra))
    names = as_list(ref.result([name_of(a) for a in case.operands], case.attrs))
    return values, names


def result_types(ref, case, values, names, rng):
    """Shape and dtype of each result. Where something else is compared, a run says what the shapes are."""
    if ref.observe is None:
        shapes = [np.shape(v.value if isinstance(v, scaled) else v) for v in values]
    else:
        shapes = [values_of(r)[0].shape for r in plain(ref.op, case, rng, None)]
    return list(zip(shapes, names, strict=True))


def check(ref, case, way_name, way, rng, label):
    before = [a.tobytes() for a in case.operands]
    values, names = expected(ref, case)
    types = result_types(ref, case, values, names, rng)
    label = f"{label}, {way_name}: {ref.op}{case}"
    try:
        results = way(ref.op, case, rng, types)
    except Error as error:
        pytest.fail(f"{label}: {error}", pytrace=False)
    COUNTS[ref.op] += 1
    for array, held in zip(case.operands, before):
        assert array.tobytes() == held, f"{label}: the run changed an operand"
    assert len(results) == len(names), f"{label}: {len(results)} results, wanted {len(names)}"
    seen = []
    for i, (result, name) in enumerate(zip(results, names)):
        array, dtype = values_of(result)
        assert dtype == name, f"{label}: result {i} is {dtype}, wanted {name}"
        seen.append(array)
    observed, operand_names = seen, [name_of(a) for a in case.operands]
    if ref.observe:
        observed = as_list(ref.observe(case, seen))
    for i, (array, value) in enumerate(zip(observed, values, strict=True)):
        name = name_of(array)
        tolerance = EXACT if numpy_dtype(name).kind in "biu" else ref.tolerance(name, operand_names)
        compare(array, value, name, tolerance, ref, label + (f": result {i}" if len(names) > 1 else ""))


def generator(*names):
    """A generator of its own for each op and dtype, so that one of them alone draws the same cases."""
    return np.random.default_rng([SEED, *(zlib.crc32(name.encode()) for name in names)])


def skip_reason(dtype, case=None):
    """Why an operand of this dtype, or what a case has beside it, cannot be had on the device, or None."""
    names = [dtype]
    if case:
        names += [name_of(a) for a in case.operands] + [case.attrs.get("dtype")]
        names += [name for name, _ in case.attrs.get("results", [])]
    if DEVICE != "cpu" and "float64" in names:
        return f"float64 exists on the CPU only, not on {DEVICE}"
    return None


def skip_where_missing(dtype="float32"):
    reason = skip_reason(dtype) or missing_device()
    if reason:
        pytest.skip(reason)


def run_cases(op, dtype):
    skip_where_missing(dtype)
    ref = REFERENCES[op]
    rng = generator(op, dtype)
    label = f"REPRISE_TEST_SEED={SEED} {op}[{dtype}]"
    ran = 0
    for case in ref.cases(rng, dtype) if EFFORT else itertools.islice(ref.cases(rng, dtype), FIRST):
        if skip_reason(dtype, case):
            continue
        check(ref, case, "as it is", plain, rng, label)
        ran += 1
        possible = list(WAYS) if case.operands else list(WITHOUT_OPERANDS)
        # Equal terms by the thousand round in one direction, which no tolerance for sums allows.
        if not case.repeatable or any(a.size > 4096 for a in case.operands):
            possible = [name for name in possible if name not in REPEATED]
        chosen = possible if case.every_way else [str(rng.choice(possible))]
        for name in chosen:
            check(ref, repeat(rng, case) if name in REPEATED else case, name, WAYS[name], rng, label)
    assert ran, f"{op} has no case for {dtype}"


def run_refusal(op, dtype):
    skip_where_missing(dtype)
    ref = REFERENCES[op]
    rng = generator(op, dtype)
    case = next(iter(ref.cases(rng, ref.dtypes[-1])))
    own = name_of(case.operands[0])
    operands = [dtypes.cast(a, dtype) if i == 0 or name_of(a) == own else a for i, a in enumerate(case.operands)]
    with pytest.raises(Error, match=op):
        plain(op, Case(operands, case.attrs), rng, None)
    COUNTS[op] += 1


def conformance_tests(module):
    """The test of a module's references: a case for each op and dtype, be it accepted or refused."""
    mine = [ref for ref in REFERENCES.values() if ref.module == module]
    params = [pytest.param(ref.op, dtype, False, id=f"{ref.op}-{dtype}") for ref in mine for dtype in ref.dtypes]
    params += [
        pytest.param(ref.op, dtype, True, id=f"{ref.op}-{dtype}-refused") for ref in mine for dtype in ref.refused
    ]

    @pytest.mark.parametrize("op, dtype, refused", params)
    def test_op(op, dtype, refused):
        # NumPy's warnings are about what the special values are there for.
        with np.errstate(all="ignore"):
            (run_refusal if refused else run_cases)(op, dtype)

    return test_op
