"""The dtypes of the contract as NumPy has them, and its rules of promotion, written from docs/spec/ops.md."""

import ml_dtypes
import numpy as np

BOOL = ("bool",)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = UNSIGNED + SIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64",)
REALS = BOOL + INTEGERS + FLOATS
ALL = REALS + COMPLEX
BITS = BOOL + INTEGERS

HALVES = ("float16", "bfloat16")


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def name_of(array):
    """The name of an array's dtype."""
    return array.dtype.name


def finfo(name):
    return ml_dtypes.finfo(numpy_dtype("float32" if name == "complex64" else name))


def bits_of(name):
    return numpy_dtype(name).itemsize * 8


def promote(*names):
    """P(a, b, ...), from the left."""
    result = names[0]
    for name in names[1:]:
        result = _promote_two(result, name)
    return result


def _promote_two(a, b):
    if a == b:
        return a
    kinds = (BOOL, UNSIGNED, SIGNED, FLOATS, COMPLEX)
    kind_a, kind_b = (next(i for i, kind in enumerate(kinds) if name in kind) for name in (a, b))
    if kind_a > kind_b:
        return _promote_two(b, a)
    if {a, b} == set(HALVES):
        return "float32"
    if kind_a == kind_b:
        return max(a, b, key=bits_of)
    if kinds[kind_b] is SIGNED and kinds[kind_a] is UNSIGNED:
        if a == "uint64":
            return "float32"
        return max(f"int{bits_of(a) * 2}", b, key=bits_of)
    return b


def floating(name):
    """F(d): float32 for booleans and integers."""
    return "float32" if name in BITS else name


def widened(name):
    """The dtype in which `sum` and `product` add up."""
    if name in ("bool", "int8", "int16"):
        return "int32"
    return "uint32" if name in ("uint8", "uint16") else name


def real_part(name):
    return "float32" if name == "complex64" else name


def cast(array, name):
    """astype as the contract has it: floats saturate, NaN becomes 0, complex numbers lose their imaginary part."""
    array = np.asarray(array)
    if name == "bool":
        return array != 0
    if array.dtype.kind == "c" and name != "complex64":
        array = array.real
    target = numpy_dtype(name)
    if target.kind in "iu" and array.dtype.kind not in "biu":
        info = np.iinfo(target)
        # A bound such as 2^63 - 1 is no float: what reaches the next power of two saturates.
        low, high = float(info.min), float(info.max + 1)
        wide = array.astype(np.float64)
        inside = (wide >= low) & (wide < high)
        out = np.where(inside, wide, 0).astype(target)
        return np.where(wide >= high, target.type(info.max), np.where(wide < low, target.type(info.min), out))
    return array.astype(target)


def wide(array):
    """The same values in a float type in which errors of the dtype's own arithmetic show; integers stay as they are."""
    array = np.asarray(array)
    if array.dtype.kind in "biu":
        return array
    if array.dtype == np.complex64:
        return array.astype(np.clongdouble)
    return array.astype(np.longdouble) if array.dtype.itemsize >= 8 else array.astype(np.float64)


def wide_float(array):
    """As wide(), but booleans and integers become what the ops compute them in: float32 values, widely."""
    array = np.asarray(array)
    return wide(array.astype(np.float32) if array.dtype.kind in "biu" else array)
