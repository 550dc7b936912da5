"""Loops and calls to the host."""

import numpy as np
import pytest

import reprise
import ways
from dtypes import ALL, name_of, numpy_dtype
from elements import own
from framework import COUNTS, EFFORT, conformance_tests, reference, skip_where_missing
from operands import LARGE_2D, WIDTHS, random_shape, seasoned, small
from ways import Case

# --- while: (kind, turns) are what the loop does; its carry starts with a counter.


def counted(body):
    """A loop over (turn, *carry) while turn < turns, whose body gives the other slots."""

    def write(turns):
        def program(builder, values):
            start, one, limit = (builder.constant(i, "int32") for i in (0, 1, turns))
            return builder.while_loop(
                [start, *values],
                lambda turn, *rest: builder.op("less", [turn, limit]),
                lambda turn, *rest: [builder.op("add", [turn, one]), *body(builder, turn, *rest)],
            )[1:]

        return program

    return write


def nested(turns):
    """turns times: an inner loop of two turns adds y to x."""
    inner = counted(lambda builder, turn, x, y: [builder.op("add", [x, y]), y])(2)
    return counted(lambda builder, turn, x, y: inner(builder, [x, y]))(turns)


def picked(builder, turn, x):
    """Adds row `turn` of x to each row."""
    return [builder.op("add", [x, builder.op("take", [x, turn], axis=0)])]


KINDS = {
    "swap": counted(lambda builder, turn, x, y: [y, x]),
    "add": counted(lambda builder, turn, x, y: [builder.op("add", [x, y]), y]),
    "rows": counted(picked),
    "nested": nested,
}


def loops(rng, dtype):
    def case(kind, turns, *operands, **kwargs):
        return Case(list(operands), {}, program=KINDS[kind](turns), extra={"kind": kind, "turns": turns}, **kwargs)

    def two(shape, other=dtype):
        return small(rng, shape, dtype), small(rng, shape, other)

    yield case("swap", 3, seasoned(rng, (2, 3), dtype), seasoned(rng, (2, 3), dtype), every_way=True)
    yield case("add", 3, *two((2, 3)), every_way=True)
    yield case("nested", 2, *two((4,)), every_way=True)
    yield case("swap", 0, *two((3,)), note="no turn")
    yield case("add", 1, *two(()))
    yield case("add", 4, *two((0, 3)))
    yield case("rows", 3, small(rng, (3, 5), dtype), every_way=True)
    yield case("add", 500, *two((2,)), note="many turns")
    yield case("add", 3, *two(LARGE_2D), note="large")
    for n in WIDTHS:
        yield case("add", 2, *two((n,)))
    for _ in range(5 * EFFORT):
        shape = random_shape(rng, 0, 4, 5, True)
        yield case(str(rng.choice(["swap", "add", "nested"])), int(rng.integers(0, 5)), *two(shape))


@reference("while", dtypes=ALL, cases=loops, result=lambda names, attrs: names, refused=())
def while_(*carry, kind, turns):
    for turn in range(turns):
        if kind == "swap":
            carry = carry[::-1]
        elif kind == "rows":
            (x,) = carry
            carry = (added(x, x[turn]),)
        else:
            x, y = carry
            for _ in range(2 if kind == "nested" else 1):
                x = added(x, y)
            carry = x, y
    return list(carry)


def added(x, y):
    return np.asarray(np.logical_or(x, y) if x.dtype == bool else own(x) + own(y)).astype(x.dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_while_predicates(dtype):
    """A condition of any dtype holds while it is not 0 in its own dtype: 256 and 0.5 do, -0.0 does not."""
    skip_where_missing(dtype)
    builder = reprise.Builder()
    queue, turns = builder.input(), builder.input()
    one = builder.constant(1, "int32")

    def condition(queue, turns):
        return builder.op("take", [queue, turns], axis=0)

    out = builder.while_loop([queue, turns], condition, lambda queue, turns: [queue, builder.op("add", [turns, one])])
    run = ways.compile_program(builder, [out[1]])
    target = numpy_dtype(dtype)
    for held in (1, 256, 0.5, 1 / 1024, 3j, float("nan")):
        if not np.can_cast(np.min_scalar_type(held), target, "same_kind") and target.kind not in "fcV":
            continue
        if isinstance(held, complex) != (target.kind == "c"):
            continue
        values = np.array([held, held, -0.0 if target.kind not in "biu" else 0, held]).astype(target)
        wanted = int(np.argmax(values == 0))
        assert run(values, np.array(0, "int32"))[0].item() == wanted, f"{held} in {dtype}"
        COUNTS["while"] += 1


# --- runtime_call


def answer(number, operands):
    """Each operand transposed, then how many bytes they have together, `number` added."""
    arrays = [np.asarray(x) for x in operands]
    assert all(a.flags.c_contiguous for a in arrays), "an operand is not dense"
    return [*(np.array(a.T, order="C") for a in arrays), np.array(sum(a.nbytes for a in arrays) + number, "int64")]


def calls(rng, dtype):
    def case(*operands, number=None, **kwargs):
        number = int(rng.integers(0, 1000)) if number is None else number
        results = [(name_of(a), list(a.shape[::-1])) for a in operands] + [("int64", [])]
        return Case(list(operands), {"callback": number, "results": results}, callback=answer, **kwargs)

    yield case(seasoned(rng, (2, 3), dtype), every_way=True)
    yield case(seasoned(rng, (2, 3, 4), dtype), seasoned(rng, (5,), dtype), every_way=True)
    yield case(seasoned(rng, (), dtype))
    yield case(seasoned(rng, (0, 3), dtype))
    yield case(number=2**31 - 1, note="no operand")
    yield case(seasoned(rng, LARGE_2D, dtype), note="large")
    for n in WIDTHS:
        yield case(seasoned(rng, (n,), dtype))
    for _ in range(6 * EFFORT):
        shapes = [random_shape(rng, 0, 4, 5, True) for _ in range(int(rng.integers(1, 4)))]
        yield case(*(seasoned(rng, shape, str(rng.choice([dtype, *ALL]))) for shape in shapes))


@reference(
    "runtime_call",
    dtypes=ALL,
    cases=calls,
    result=lambda names, attrs: [name for name, _ in attrs["results"]],
    refused=(),
)
def runtime_call(*operands, callback, results):
    return answer(callback, operands)


def test_how_often_calls_fire():
    """Once for each evaluation and each of two equal calls; in loops once a turn; never while compiling, nor when
    nothing depends on the call."""
    skip_where_missing()
    fired = []

    def callback(number, operands):
        fired.append(number)
        return [np.asarray(operands[0]) + 1]

    builder = reprise.Builder()
    x = builder.input()
    declared = [("float32", [])]
    one, other = (builder.op("runtime_call", [x], callback=1, results=declared) for _ in range(2))
    builder.op("runtime_call", [x], callback=2, results=declared)
    kept = builder.op("runtime_call", [x], callback=3, results=declared)
    start, step, limit = (builder.constant(i, "int32") for i in (0, 1, 4))
    looped = builder.while_loop(
        [start, x],
        lambda turn, value: builder.op("less", [turn, limit]),
        lambda turn, value: [
            builder.op("add", [turn, step]),
            builder.op("runtime_call", [value], callback=4, results=declared),
        ],
    )
    program = builder.build([one, other, looped[1]], keep=[kept])
    run = reprise.compile(program, backend=ways.BACKEND, device=ways.DEVICE)
    assert fired == []
    for _ in range(2):
        fired.clear()
        assert [r.item() for r in run(np.float32(5), callback=callback)] == [6, 6, 9]
        assert sorted(fired) == [1, 1, 3, 4, 4, 4, 4]
    COUNTS["runtime_call"] += 2


test_op = conformance_tests(__name__)
