"""The ways in which one case reaches the op: layouts of its operands in memory, views inside the program, donation,
captures, a loop. This is the only file here that calls the package."""

import functools
import os
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import reprise
from dtypes import numpy_dtype
from operands import ordinary

DEVICE = os.environ.get("REPRISE_TEST_DEVICE", "cpu")
BACKEND = os.environ.get("REPRISE_TEST_BACKEND", "mlx")

Error = reprise.Error


@dataclass
class Case:
    """Operands and attributes for one op. `program`, if any, writes the instructions in place of the op's own one."""

    operands: list
    attrs: dict = field(default_factory=dict)
    note: str = ""
    every_way: bool = False  # not only as it is and in one other way that is drawn
    repeatable: bool = True  # an operand may be replaced by one that repeats along an axis
    program: Callable | None = None
    callback: Callable | None = None
    extra: dict = field(default_factory=dict)  # what only the reference needs

    def write(self, builder, op, values):
        return self.program(builder, values) if self.program else builder.ops(op, values, **self.attrs)

    def __str__(self):
        operands = ", ".join(f"{a.dtype.name}{list(a.shape)}" for a in self.operands)
        attrs = ", ".join(f"{k} = {v}" for k, v in {**self.attrs, **self.extra}.items())
        return f"({operands}) {{{attrs}}}" + (f"  # {self.note}" if self.note else "")


@functools.cache
def missing_device():
    """Why nothing can run on the chosen device, or None. Whatever else is wrong is an error."""
    if DEVICE == "cpu":
        return None
    builder = reprise.Builder()
    program = builder.build([builder.input()])
    reprise.compile(program, backend=BACKEND, device="cpu")
    try:
        reprise.compile(program, backend=BACKEND, device=DEVICE)
    except reprise.Error as error:
        return str(error)
    return None


def compile_program(builder, outputs):
    return reprise.compile(builder.build(outputs), backend=BACKEND, device=DEVICE)


def values_of(array):
    """What a run gave, as NumPy has it, with the name of its dtype."""
    values = np.asarray(array)
    name = str(array.dtype)
    return values.astype(numpy_dtype(name), copy=False), name


# --- one way each: (op, case, rng, expected types) -> results

_executables = {}


def plain(op, case, rng, types):
    """The operands as inputs, dense. Cases of equal attributes share an executable, which specialises for each."""
    key = (op, len(case.operands), repr(case.attrs))
    executable = None if case.program else _executables.get(key)
    if executable is None:
        builder = reprise.Builder()
        values = [builder.input() for _ in case.operands]
        executable = compile_program(builder, case.write(builder, op, values))
        if not case.program:
            if len(_executables) > 200:
                _executables.clear()
            _executables[key] = executable
    return executable(*case.operands, callback=case.callback)


def replayed(op, case, rng, types):
    """A second run on other values of the same shapes and dtypes comes first."""
    builder = reprise.Builder()
    values = [builder.input() for _ in case.operands]
    executable = compile_program(builder, case.write(builder, op, values))
    results = executable(*case.operands, callback=case.callback)
    held = [np.array(np.asarray(r)) for r in results]
    again = executable(*case.operands, callback=case.callback)
    for before, first in zip(held, results):
        assert before.tobytes() == np.asarray(first).tobytes(), "a later run changed the results of an earlier one"
    return again


def donated(op, case, rng, types):
    builder = reprise.Builder()
    values = [builder.input() for _ in case.operands]
    executable = compile_program(builder, case.write(builder, op, values))
    arrays = [reprise.array(a) for a in case.operands]
    return executable(*arrays, donate=True, callback=case.callback)


def captured(op, case, rng, types):
    builder = reprise.Builder()
    values = [builder.capture(a) for a in case.operands]
    return compile_program(builder, case.write(builder, op, values))(callback=case.callback)


def looped(op, case, rng, types):
    """Inside a loop of two turns, whose carry holds the operands and the results."""
    builder = reprise.Builder()
    start, one, two = (builder.constant(i, "int32") for i in range(3))
    operands = [builder.input() for _ in case.operands]
    results = [builder.input() for _ in types]
    n = len(operands)

    def body(turn, *rest):
        return [builder.op("add", [turn, one]), *rest[:n], *case.write(builder, op, list(rest[:n]))]

    carry = builder.while_loop([start, *operands, *results], lambda turn, *rest: builder.op("less", [turn, two]), body)
    zeros = [np.zeros(shape, numpy_dtype(name)) for shape, name in types]
    return compile_program(builder, carry[1 + n :])(*case.operands, *zeros, callback=case.callback)


def numpy_layout(arrange):
    def way(op, case, rng, types):
        builder = reprise.Builder()
        values = [builder.input() for _ in case.operands]
        executable = compile_program(builder, case.write(builder, op, values))
        return executable(*(arrange(rng, a) for a in case.operands), callback=case.callback)

    return way


def view(make):
    def way(op, case, rng, types):
        builder = reprise.Builder()
        arrays, values = [], []
        for a in case.operands:
            array, attach = make(rng, a)
            arrays.append(array)
            values.append(attach(builder, builder.input()))
        executable = compile_program(builder, case.write(builder, op, values))
        return executable(*arrays, callback=case.callback)

    return way


def arrange_transposed(rng, a):
    order = rng.permutation(a.ndim)
    return np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order)) if a.ndim else a


def arrange_reversed(rng, a):
    step = (slice(None, None, -1),) * a.ndim
    return np.ascontiguousarray(a[step])[step] if a.ndim else a


def _spread(rng, a):
    """An array that holds `a` at every second place from 1 on, other values around it."""
    base = ordinary(rng, tuple(2 * n + 1 for n in a.shape), a.dtype.name)
    base[(slice(1, None, 2),) * a.ndim] = a
    return base


def arrange_strided(rng, a):
    return _spread(rng, a)[(slice(1, None, 2),) * a.ndim] if a.ndim else a


def arrange_repeated(rng, a):
    """`a` repeats along some axis: the view has a stride of 0 there."""
    repeats = [
        i for i, n in enumerate(a.shape) if n > 1 and np.array_equal(a, np.broadcast_to(a.take([0], i), a.shape))
    ]
    for axis in repeats:
        a = np.broadcast_to(np.ascontiguousarray(a.take([0], axis)), a.shape)
    return a


def view_transposed(rng, a):
    if not a.ndim:
        return a, lambda builder, value: value
    order = [int(i) for i in rng.permutation(a.ndim)]
    back = [int(i) for i in np.argsort(order)]
    return np.ascontiguousarray(a.transpose(order)), lambda builder, value: builder.op("transpose", [value], axes=back)


def view_reversed(rng, a):
    axes = list(range(a.ndim))
    flipped = np.ascontiguousarray(np.flip(a))
    return flipped.reshape(a.shape), lambda builder, value: builder.op("reverse", [value], axes=axes)


def view_strided(rng, a):
    if not a.ndim:
        return a, lambda builder, value: value
    base = _spread(rng, a)
    shape = list(base.shape)
    attrs = {
        "input_shape": shape,
        "lengths": [max(2 * n - 1, 0) for n in a.shape],
        "strides": [2] * a.ndim,
        "starts": [1] * a.ndim,
    }
    return base, lambda builder, value: builder.op("slice", [value], **attrs)


def view_repeated(rng, a):
    for axis, n in enumerate(a.shape):
        if n > 1 and np.array_equal(a, np.broadcast_to(a.take([0], axis), a.shape)):
            one = np.ascontiguousarray(a.take([0], axis))
            attrs = {"shape": list(a.shape), "axes": list(range(a.ndim))}
            return one, lambda builder, value: builder.op("broadcast", [value], **attrs)
    return a, lambda builder, value: value


def repeat(rng, case):
    """The case with each operand made to repeat along an axis."""
    operands = []
    for a in case.operands:
        axes = [i for i, n in enumerate(a.shape) if n > 1]
        if axes and a.size:
            a = np.ascontiguousarray(np.broadcast_to(a.take([0], rng.choice(axes)), a.shape))
        operands.append(a)
    return Case(
        operands, case.attrs, case.note, case.every_way, case.repeatable, case.program, case.callback, case.extra
    )


WAYS = {
    "replayed": replayed,
    "donated": donated,
    "captured": captured,
    "looped": looped,
    "transposed in memory": numpy_layout(arrange_transposed),
    "reversed in memory": numpy_layout(arrange_reversed),
    "strided in memory": numpy_layout(arrange_strided),
    "repeated in memory": numpy_layout(arrange_repeated),
    "transposed view": view(view_transposed),
    "reversed view": view(view_reversed),
    "strided view": view(view_strided),
    "repeated view": view(view_repeated),
}
REPEATED = ("repeated in memory", "repeated view")
WITHOUT_OPERANDS = ("replayed", "looped")
