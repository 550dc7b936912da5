"""The rows of the table: what is computed, on which inputs, and when two answers count as the same."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"


def make_inputs(seed):
    """All arrays of the table by name, the same in every process. No two elements of `distinct` are equal, so that
    sorting has one right answer; 4-bit weights are made by hand, as any packer would."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.normal(size=shape).astype("f4")

    square = normal(128, 128)
    codes = rng.integers(0, 16, size=(1024, 1024)).astype("u4")
    words = codes.reshape(1024, 128, 8)
    packed = sum((words[..., i] << np.uint32(4 * i) for i in range(8)), np.zeros((1024, 128), "u4"))
    return {
        "a": normal(1024, 1024),
        "b": normal(1024, 1024),
        "row": normal(1, 1024),
        "rows64": normal(64, 1024),
        "weight": normal(1024),
        "image": normal(1, 56, 56, 64),  # N, H, W, C
        "kernel": normal(64, 3, 3, 64) * np.float32(0.05),  # O, H, W, I
        "signal": normal(1_000_000),
        "distinct": (rng.permutation(1 << 20).astype("f4") / np.float32(1 << 20)).reshape(1024, 1024),
        "heads": normal(1, 9, 512, 64),
        "square": square,
        "positive": (square @ square.T + 128 * np.eye(128)).astype("f4"),
        "indices": rng.integers(0, 1024, size=8192).astype("i4"),
        "small_x": normal(16, 16) * np.float32(0.1),
        "small_w": normal(16, 16) * np.float32(0.2),
        "one": np.ones(1, "f4"),
        "scalar": np.array(1, "f4"),
        "q_words": packed,
        "q_scales": rng.uniform(0.01, 0.02, size=(1024, 32)).astype("f4"),
        "q_biases": rng.uniform(-0.2, -0.1, size=(1024, 32)).astype("f4"),
        "q_codes": codes,
    }


def to_bf16_bits(x):
    """Rounds to the nearest bfloat16, ties to even; finite numbers only."""
    bits = x.view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")


@dataclass(frozen=True)
class Row:
    name: str
    program: str  # file in programs/, or a name that generated() knows
    inputs: tuple = ()
    tolerance: float = 0.0  # greatest difference of two elements, in units of the answer's greatest magnitude
    goal: float = 1.0  # our time divided by the best peer's should be no more than this
    kind: str = "replay"  # or "compile": time to compile instead of time to replay
    captures: tuple = ()  # (name, input) pairs
    bf16: bool = False  # inputs go in as the bits of bfloat16
    absolute: bool = False  # signs are a matter of taste: compare magnitudes


QMM = (("w", "q_words"), ("scales", "q_scales"), ("biases", "q_biases"))

ROWS = [
    Row("gemm f32 1024x1024x1024", "gemm_f32", ("a", "b"), 1e-5),
    Row("gemm bf16 1024x1024x1024", "gemm_bf16", ("a", "b"), 1e-2, bf16=True),
    Row("gemv f32 1x1024x1024", "gemv_f32", ("row", "b"), 1e-5),
    # Compiled before it is replayed: some peers keep what they once compiled.
    Row("chain10 1M: compile", "chain10", ("a", "b"), kind="compile"),
    Row("chain10 1M: 10 x tanh(x * y + y)", "chain10", ("a", "b"), 5e-5, goal=0.65),
    Row("600 small ops, 16x16", "small600", ("small_x", "small_w"), 1e-4, goal=0.5),
    Row("softmax 1024x1024", "softmax", ("a",), 1e-5),
    Row("layer_norm 1024x1024", "layer_norm", ("a", "weight"), 1e-5),
    Row("sum axis 0, 1024x1024", "sum_axis0", ("a",), 1e-5),
    Row("sum all, 1024x1024", "sum_all", ("a",), 1e-4),
    Row("argmax rows, 1024x1024", "argmax", ("distinct",)),
    Row("conv 56x56x64, 3x3, 64 out", "conv", ("image", "kernel"), 1e-5),
    Row("max_pool 56x56x64, 3x3 / 2", "max_pool", ("image",)),
    Row("sort 1M", "sort", ("signal",), goal=0.5),
    Row("argsort rows, 1024x1024", "argsort", ("distinct",), goal=0.5),
    Row("cumsum rows, 1024x1024", "cumsum", ("a",), 1e-5),
    Row("sdpa causal 9x512x64", "sdpa_causal", ("heads",), 1e-5, goal=0.8),
    Row("take 8192 rows of 1024", "take", ("a", "indices")),
    Row("transpose copy 1024x1024", "transpose", ("a",)),
    Row("fft 1M", "fft", ("signal",), 1e-5),
    Row("cholesky 128", "cholesky", ("positive",), 1e-5),
    Row("svd 128", "svd", ("square",), 1e-5),
    Row("qr 128", "qr", ("square",), 1e-5, absolute=True),
    Row("eigh 128", "eigh", ("positive",), 1e-5),
    Row("solve 128", "solve", ("positive",), 1e-5),
    Row("while, 10k scalar turns", "while", ("scalar",), 1e-4),
    Row("qmm4 1x1024x1024", "qmm4", ("row",), 2e-2, captures=QMM, goal=0.04),
    Row("qmm4 64x1024x1024", "qmm4", ("rows64",), 2e-2, captures=QMM, goal=0.04),
    Row("replay of 1 add of 1 element", "one", ("one",)),
    Row("compile 1,000 instructions", "compile1000", ("small_x", "small_w"), kind="compile"),
    Row("compile 10,000 instructions", "compile10000", ("small_x", "small_w"), kind="compile"),
]

# As the peers' rows know them.
TURNS = {"small600": 300, "compile1000": 500, "compile10000": 5000}


def program_text(name):
    """The text of a row's program: from programs/, but for long ones, which are turns of tanh(x @ w)."""
    if name not in TURNS:
        return (PROGRAMS / f"{name}.rp").read_text()
    lines = ["reprise 1", "inputs 2"]
    for i in range(0, 2 * TURNS[name], 2):
        x = f"%{i - 1}" if i else "in0"
        lines += [f"%{i} = dot {x}, in1 {{contract_a = [1], contract_b = [0]}}", f"%{i + 1} = tanh %{i}"]
    return "\n".join([*lines, f"return %{2 * TURNS[name] - 1}", ""])
