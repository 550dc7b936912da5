"""JAX, with jax.jit."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rows import TURNS


class Peer:
    def __init__(self, inputs, threads):
        self.version = f"jax {jax.__version__}"
        self.x = {name: jnp.array(value) for name, value in inputs.items()}

    @staticmethod
    def to_numpy(answer):
        return np.asarray(answer.astype(jnp.float32) if answer.dtype == jnp.bfloat16 else answer)

    def _run(self, function, *names):
        compiled = jax.jit(function)
        arrays = [self.x[name] for name in names]
        return lambda: jax.block_until_ready(compiled(*arrays))

    def _compiling(self, function, *names):
        def seconds():
            jax.clear_caches()
            start = time.perf_counter()
            jax.jit(lambda x, y: function(x, y)).lower(*(self.x[name] for name in names)).compile()
            return time.perf_counter() - start

        return seconds

    def gemm_f32(self, row):
        return self._run(jnp.matmul, *row.inputs)

    def gemm_bf16(self, row):
        for name in "a", "b":
            self.x[name + "16"] = self.x[name].astype(jnp.bfloat16)
        return self._run(jnp.matmul, "a16", "b16")

    def gemv_f32(self, row):
        return self._run(jnp.matmul, *row.inputs)

    @staticmethod
    def _chain(x, y):
        for _ in range(10):
            x = jnp.tanh(x * y + y)
        return x

    def chain10(self, row):
        return self._run(self._chain, *row.inputs)

    def chain10_compile(self, row):
        return self._compiling(self._chain, *row.inputs)

    @staticmethod
    def _small(turns):
        def small(x, w):
            for _ in range(turns):
                x = jnp.tanh(x @ w)
            return x

        return small

    def small600(self, row):
        return self._run(self._small(TURNS["small600"]), *row.inputs)

    def compile1000_compile(self, row):
        return self._compiling(self._small(TURNS["compile1000"]), *row.inputs)

    # compile10000 is left out: XLA takes minutes for it.

    def softmax(self, row):
        return self._run(lambda x: jax.nn.softmax(x, axis=-1), *row.inputs)

    def layer_norm(self, row):
        def norm(x, w):
            centred = x - jnp.mean(x, axis=-1, keepdims=True)
            variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
            return centred * lax.rsqrt(variance + 1e-5) * w + w

        return self._run(norm, *row.inputs)

    def sum_axis0(self, row):
        return self._run(lambda x: jnp.sum(x, axis=0), *row.inputs)

    def sum_all(self, row):
        return self._run(jnp.sum, *row.inputs)

    def argmax(self, row):
        return self._run(lambda x: jnp.argmax(x, axis=-1), *row.inputs)

    def conv(self, row):
        self.x["hwio"] = jnp.transpose(self.x["kernel"], (1, 2, 3, 0))
        layout = ("NHWC", "HWIO", "NHWC")
        return self._run(
            lambda i, k: lax.conv_general_dilated(i, k, (1, 1), "SAME", dimension_numbers=layout), "image", "hwio")

    def max_pool(self, row):
        pads = ((0, 0), (1, 1), (1, 1), (0, 0))
        return self._run(
            lambda i: lax.reduce_window(i, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), pads), *row.inputs)

    def sort(self, row):
        return self._run(jnp.sort, *row.inputs)

    def argsort(self, row):
        return self._run(lambda x: jnp.argsort(x, axis=-1), *row.inputs)

    def cumsum(self, row):
        return self._run(lambda x: jnp.cumsum(x, axis=1), *row.inputs)

    def sdpa_causal(self, row):
        def attend(x):
            scores = jnp.einsum("bhqd,bhkd->bhqk", x, x) * 0.125
            n = x.shape[2]
            seen = jnp.arange(n)[:, None] >= jnp.arange(n)[None, :]
            return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1), x)

        return self._run(attend, *row.inputs)

    def take(self, row):
        return self._run(lambda x, i: jnp.take(x, i, axis=0), *row.inputs)

    def transpose(self, row):
        return self._run(lambda x: jnp.transpose(x) + 0, *row.inputs)

    def fft(self, row):
        return self._run(jnp.fft.fft, *row.inputs)

    def cholesky(self, row):
        return self._run(jnp.linalg.cholesky, *row.inputs)

    def svd(self, row):
        return self._run(lambda x: jnp.linalg.svd(x)[1], *row.inputs)

    def qr(self, row):
        return self._run(lambda x: jnp.linalg.qr(x)[1], *row.inputs)

    def eigh(self, row):
        return self._run(lambda x: jnp.linalg.eigh(x)[0], *row.inputs)

    def solve(self, row):
        return self._run(lambda x: jnp.linalg.solve(x, x), *row.inputs)

    def one(self, row):
        return self._run(lambda x: x + 1, *row.inputs)

    # JAX has the name of a keyword: see peer.py.
    def _turns(self, row):
        def turns(x):
            start = (jnp.int32(0), x)
            return lax.while_loop(lambda c: c[0] < 10000, lambda c: (c[0] + 1, c[1] * 1.0001 + 1.0), start)[1]

        return self._run(turns, *row.inputs)


setattr(Peer, "while", Peer._turns)
