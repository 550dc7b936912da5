"""Contractions, convolutions, products with packed weights, Fourier transforms."""

import functools

import ml_dtypes
import numpy as np
import scipy.fft

from dtypes import ALL, BITS, COMPLEX, FLOATS, HALVES, finfo, name_of, numpy_dtype, promote, wide
from framework import EFFORT, Tolerance, conformance_tests, generator, promoted, reference, scaled
from operands import WIDTHS, distinct_axes, ordinary, signed_axis, small
from ways import Case

INEXACT = FLOATS + COMPLEX


def terms(carried, reason="terms add up in any order, 16-bit floats in float32"):
    return Tolerance(0.51, reason, carried=carried)


# --- dot


def dots(rng, dtype):
    def case(a, b, ca, cb, ba=(), bb=(), other=dtype, **kwargs):
        attrs = {"contract_a": list(ca), "contract_b": list(cb), "batch_a": list(ba), "batch_b": list(bb)}
        return Case([ordinary(rng, a, dtype), (ordinary if other == dtype else small)(rng, b, other)], attrs, **kwargs)

    yield case((3, 4), (4, 5), [1], [0], every_way=True)
    yield case((2, 3, 4), (2, 4, 5), [2], [1], [0], [0], note="a batch", every_way=True)
    yield case((4,), (4,), [0], [0])
    yield case((2,), (3,), [], [], note="outer product")
    yield case((), (3,), [], [])
    yield case((3, 0), (0, 5), [1], [0], note="empty contraction")
    yield case((0, 3), (3, 2), [1], [0])
    yield case((2, 0, 3), (2, 3, 4), [2], [1], [0], [0])
    yield case((2, 3, 0), (2, 0, 4), [2], [1], [0], [0], note="empty contraction, a batch")
    yield case((130, 257), (257, 101), [1], [0], note="large")
    yield case((3, 40, 65), (3, 33, 65), [-1], [2], [0], [-3], note="large, a batch")
    for other in ALL:
        yield case((3, 4), (4, 2), [1], [0], other=other, note="promotion")
    for n in WIDTHS:
        yield case((2, n), (n, 3), [1], [0])
        yield case((n, 3), (3, 2), [1], [0])
        yield case((2, 3), (3, n), [1], [0])
        yield case((n,), (n,), [0], [0])
    for _ in range(20 * EFFORT):
        batch, contracted = ([int(n) for n in rng.integers(1, 4, rng.integers(0, 3))] for _ in range(2))
        free_a, free_b = ([int(n) for n in rng.integers(1, 5, rng.integers(0, 3))] for _ in range(2))
        shapes, places = [], []
        for free in (free_a, free_b):
            dims = [*batch, *contracted, *free]
            order = distinct_axes(rng, len(dims), len(dims))
            shapes.append([dims[i] for i in order])
            places.append([signed_axis(rng, order.index(i), len(dims)) for i in range(len(batch) + len(contracted))])
        n = len(batch)
        yield case(*shapes, places[0][n:], places[1][n:], places[0][:n], places[1][:n])


def contract(a, b, contract_a, contract_b, batch_a, batch_b):
    """The sum over the paired axes: batch axes first, then what is free of a, then of b."""
    labels_a, labels_b = [None] * a.ndim, [None] * b.ndim
    for label, (i, j) in enumerate(zip([*batch_a, *contract_a], [*batch_b, *contract_b])):
        labels_a[i] = labels_b[j] = label
    count = len(batch_a) + len(contract_a)
    free = []
    for labels in (labels_a, labels_b):
        for i, label in enumerate(labels):
            if label is None:
                labels[i] = count
                free.append(count)
                count += 1
    return np.einsum(a, labels_a, b, labels_b, [*range(len(batch_a)), *free])


@reference("dot", dtypes=INEXACT, cases=dots, result=promoted, tolerance=terms(16))
def dot(a, b, **attrs):
    target = numpy_dtype(promote(name_of(a), name_of(b)))
    a, b = wide(a.astype(target)), wide(b.astype(target))
    scale = contract(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64), **attrs)
    return scaled(contract(a, b, **attrs), scale)


# --- convolution


def convolution_shapes():
    """The same for all dtypes, since JAX compiles each anew."""
    rng = generator("conv_general")
    yield dict(n=1, size=(9,), kernel=(3,), channels=(2, 4), batch=2, every_way=True)
    yield dict(n=2, size=(7, 6), kernel=(3, 2), channels=(3, 4), batch=2, every_way=True)
    yield dict(n=2, size=(5, 5), kernel=(1, 1), channels=(4, 4), batch=1, groups=4, note="depthwise")
    yield dict(n=2, size=(40, 41), kernel=(5, 3), channels=(8, 16), batch=2, note="large")
    yield dict(n=1, size=(3,), kernel=(4,), channels=(1, 1), batch=1, note="nothing fits")
    yield dict(n=1, size=(5,), kernel=(2,), channels=(2, 2), batch=0, note="no batch")
    for n in (1, 3, 4, 8, 16, 17, 33):
        yield dict(n=1, size=(9,), kernel=(3,), channels=(n, 2), batch=1)
        yield dict(n=1, size=(9,), kernel=(3,), channels=(2, n), batch=1)
    for _ in range(20 * EFFORT):
        n = int(rng.integers(1, 4))
        groups = int(rng.choice([1, 1, 2, 3]))
        draw = lambda low, high: tuple(int(v) for v in rng.integers(low, high, n))  # noqa: E731
        size, kernel, input_dilation, kernel_dilation = draw(2, 7), draw(1, 4), draw(1, 3), draw(1, 3)
        low, high = list(draw(-1, 4)), list(draw(-1, 4))
        for i in range(n):
            short = (
                (kernel[i] - 1) * kernel_dilation[i] + 1 - ((size[i] - 1) * input_dilation[i] + 1 + low[i] + high[i])
            )
            high[i] += max(short, 0)
        yield dict(
            n=n,
            size=size,
            kernel=kernel,
            channels=(groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))),
            batch=int(rng.integers(1, 4)),
            groups=groups,
            strides=draw(1, 4),
            low=low,
            high=high,
            input_dilation=input_dilation,
            kernel_dilation=kernel_dilation,
        )


def convolutions(rng, dtype):
    for c in convolution_shapes():
        n, groups, ones = c["n"], c.get("groups", 1), [1] * c["n"]
        attrs = {
            "strides": list(c.get("strides", ones)),
            "low": list(c.get("low", [0] * n)),
            "high": list(c.get("high", [0] * n)),
            "kernel_dilation": list(c.get("kernel_dilation", ones)),
            "input_dilation": list(c.get("input_dilation", ones)),
            "groups": groups,
        }
        channels, outputs = c["channels"]
        x = ordinary(rng, (c["batch"], *c["size"], channels), dtype)
        w = ordinary(rng, (outputs, *c["kernel"], channels // groups), dtype)
        yield Case([x, w], attrs, note=c.get("note", ""), every_way=c.get("every_way", False))
    for other in ALL:
        if other not in COMPLEX:
            yield Case(
                [ordinary(rng, (1, 5, 2), dtype), small(rng, (3, 2, 2), other)],
                {"strides": [1], "low": [1], "high": [0], "kernel_dilation": [1], "input_dilation": [1], "groups": 1},
                note="promotion",
            )


@functools.cache
def jax():
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax


def convolve(x, w, strides, low, high, kernel_dilation, input_dilation, groups):
    lax, spatial = jax().lax, "DHW"[: len(strides)]
    layout = (f"N{spatial}C", f"O{spatial}I", f"N{spatial}C")
    out = lax.conv_general_dilated(
        x,
        w,
        strides,
        list(zip(low, high)),
        input_dilation,
        kernel_dilation,
        layout,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )
    return np.asarray(out)


@reference("conv_general", dtypes=FLOATS, cases=convolutions, result=promoted, tolerance=terms(16))
def conv_general(x, w, **attrs):
    target = numpy_dtype(promote(name_of(x), name_of(w)))
    x, w = x.astype(target).astype(np.float64), w.astype(target).astype(np.float64)
    return scaled(convolve(x, w, **attrs), convolve(np.abs(x), np.abs(w), **attrs))


# --- packed weights


def pack(codes, bits):
    """Codes along the last axis as uint32 words, lowest bits first."""
    stream = (codes[..., None] >> np.arange(bits)) & 1
    stream = stream.reshape(*codes.shape[:-1], -1, 32).astype(np.uint32)
    return (stream << np.arange(32, dtype=np.uint32)).sum(-1, dtype=np.uint32)


def unpack(words, bits):
    stream = (words[..., None] >> np.arange(32, dtype=np.uint32)) & 1
    stream = stream.reshape(*words.shape[:-1], -1, bits).astype(np.int64)
    return (stream << np.arange(bits)).sum(-1)


MODES = [("affine", group, bits) for group in (32, 64, 128) for bits in (2, 3, 4, 5, 6, 8)] + [
    ("mxfp4", 32, 4),
    ("mxfp8", 32, 8),
    ("nvfp4", 16, 4),
]


def quantized(rng, dtype):
    def case(mode, group, bits, rows, n, k, transpose, scale_dtype=dtype, **kwargs):
        packed, other = (k, n) if transpose else (n, k)
        codes = rng.integers(0, 2**bits, (other, packed))
        if mode == "mxfp8":
            codes = np.where(codes & 127 == 127, 0, codes)  # all ones is NaN
        attrs = {
            "group_size": group,
            "bits": bits,
            "transpose": transpose,
            "mode": mode,
            "has_biases": mode == "affine",
        }
        groups = (other, packed // group)
        if mode == "affine":
            parameters = [ordinary(rng, groups, scale_dtype, 0.01, 0.1), ordinary(rng, groups, scale_dtype, -0.5, 0.5)]
        elif mode == "nvfp4":
            parameters = [rng.integers(0x28, 0x48, groups).astype(np.uint8)]
        else:
            parameters = [rng.integers(120, 130, groups).astype(np.uint8)]
        x = ordinary(rng, (*rows, k), dtype)
        return Case([x, pack(codes, bits), *parameters], attrs, repeatable=False, **kwargs)

    yield case("affine", 32, 4, (3,), 32, 64, True, every_way=True)
    yield case("affine", 64, 8, (2,), 64, 32, False, every_way=True)
    for mode, group, bits in MODES:
        size = max(group, 64)
        yield case(mode, group, bits, (2, 3), size, 2 * size, True)
        yield case(mode, group, bits, (5,), 2 * size, size, False)
        yield case(mode, group, bits, (1,), size, size, True, note="one row")
    yield case("affine", 64, 4, (33,), 256, 512, True, note="large")
    yield case("affine", 32, 4, (0,), 32, 64, True)
    for other in FLOATS:
        yield case("affine", 32, 4, (2,), 32, 64, True, scale_dtype=other, note="promotion")
    for n in WIDTHS:
        yield case("affine", 32, 4, (n,), 32, 64, True)
        yield case("affine", 32, 4, (2,), n, 64, True)


def quantized_result(names, attrs):
    return promote(names[0], names[2]) if attrs["mode"] == "affine" else names[0]


def quantized_tolerance(name, operands):
    # The weights are rounded to the result's dtype: an epsilon of that for each term.
    eps, carrier = float(finfo(name).eps), float(finfo("float64" if name == "float64" else "float32").eps)
    return Tolerance(
        0.51,
        "weights are rounded to the dtype of the result, terms add up in any order",
        carried=16 if name not in HALVES else 2 * eps / carrier,
    )


@reference(
    "quantized_matmul",
    dtypes=FLOATS,
    cases=quantized,
    result=quantized_result,
    tolerance=quantized_tolerance,
    refused=BITS + COMPLEX,
)
def quantized_matmul(x, w, scales, biases=None, *, group_size, bits, transpose, mode, has_biases):
    codes = unpack(w, bits)
    grouped = codes.reshape(*codes.shape[:-1], -1, group_size)
    if mode == "affine":
        parts = wide(scales)[..., None] * grouped, np.broadcast_to(wide(biases)[..., None], grouped.shape)
    else:
        element = ml_dtypes.float8_e4m3fn if mode == "mxfp8" else ml_dtypes.float4_e2m1fn
        scale = scales.view(ml_dtypes.float8_e4m3fn if mode == "nvfp4" else ml_dtypes.float8_e8m0fnu).astype(np.float64)
        parts = scale[..., None] * grouped.astype(np.uint8).view(element).astype(np.float64), np.zeros(grouped.shape)
    weights = sum(parts).reshape(codes.shape)
    size = sum(map(np.abs, parts)).reshape(codes.shape)
    if transpose:
        weights, size = weights.T, size.T
    x = wide(x).astype(np.float64)
    return scaled(x @ weights.astype(np.float64), np.abs(x) @ size.astype(np.float64))


# --- Fourier transforms


def transforms(rng, dtype):
    def case(shape, axis, length, **kwargs):
        return Case(
            [ordinary(rng, shape, dtype, -1, 1) if dtype not in BITS else small(rng, shape, dtype)],
            {"axis": axis, "length": length},
            **kwargs,
        )

    yield case((3, 8), 1, 8, every_way=True)
    yield case((5, 3), 0, 7, note="filled", every_way=True)
    yield case((4, 9), -1, 4, note="cut")
    yield case((2, 0), 0, 2)
    yield case((0, 4), 1, 4)
    yield case((2, 0), 1, 3, note="of zeros alone")
    yield case((2, 30011), 1, 30011, note="large, a prime length")
    yield case((65536,), 0, 65536, note="large")
    for n in (*WIDTHS, 2, 5, 6, 10, 12, 13, 27, 97, 128, 1000):
        yield case((n,), 0, n)
    for _ in range(12 * EFFORT):
        shape = [int(n) for n in rng.integers(1, 12, rng.integers(1, 4))]
        axis = int(rng.integers(0, len(shape)))
        yield case(shape, signed_axis(rng, axis, len(shape)), int(rng.integers(1, 20)))


def fft_result(names, attrs):
    return "complex64"


FFT = Tolerance(0.51, "rounding is relative to the largest output of a transform, not to each", carried=6)


def transform(x, function, axes, lengths):
    out = function(x.astype(np.complex128), lengths, axes)
    return scaled(out, np.broadcast_to(np.abs(out).max(tuple(axes), keepdims=True, initial=0), out.shape))


@reference("fft", dtypes=ALL, cases=transforms, result=fft_result, tolerance=FFT)
def fft(x, axis, length):
    return transform(x, lambda x, n, axes: scipy.fft.fftn(x, n, axes), [axis], [length])


@reference("ifft", dtypes=ALL, cases=transforms, result=fft_result, tolerance=FFT)
def ifft(x, axis, length):
    return transform(x, lambda x, n, axes: scipy.fft.ifftn(x, n, axes), [axis], [length])


def transforms2(rng, dtype):
    def case(shape, axes, lengths, **kwargs):
        values = ordinary(rng, shape, dtype, -1, 1) if dtype not in BITS else small(rng, shape, dtype)
        return Case(
            [values], {"axis0": axes[0], "axis1": axes[1], "length0": lengths[0], "length1": lengths[1]}, **kwargs
        )

    yield case((4, 6), (0, 1), (4, 6), every_way=True)
    yield case((2, 5, 3), (2, 0), (4, 3), note="cut and filled", every_way=True)
    yield case((0, 3, 2), (1, 2), (3, 2))
    yield case((255, 300), (-2, -1), (255, 300), note="large")
    for n in WIDTHS:
        yield case((n, 4), (0, 1), (n, 4))
        yield case((3, n), (-1, 0), (n, 3))
    for _ in range(12 * EFFORT):
        shape = [int(n) for n in rng.integers(1, 9, rng.integers(2, 5))]
        axes = [signed_axis(rng, a, len(shape)) for a in distinct_axes(rng, len(shape), 2)]
        yield case(shape, axes, [int(n) for n in rng.integers(1, 12, 2)])


@reference("fft2", dtypes=ALL, cases=transforms2, result=fft_result, tolerance=FFT)
def fft2(x, axis0, axis1, length0, length1):
    return transform(x, lambda x, n, axes: scipy.fft.fft2(x, n, axes), [axis0, axis1], [length0, length1])


@reference("ifft2", dtypes=ALL, cases=transforms2, result=fft_result, tolerance=FFT)
def ifft2(x, axis0, axis1, length0, length1):
    return transform(x, lambda x, n, axes: scipy.fft.ifft2(x, n, axes), [axis0, axis1], [length0, length1])


test_op = conformance_tests(__name__)
