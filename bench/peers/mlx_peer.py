"""MLX, with mx.compile."""

import time

import mlx.core as mx
import numpy as np

from rows import TURNS


class Peer:
    def __init__(self, inputs, threads):
        mx.set_default_device(mx.cpu)
        self.version = f"mlx {mx.__version__}"
        self.x = {name: mx.array(value) for name, value in inputs.items() if name != "q_codes"}
        mx.eval(list(self.x.values()))

    @staticmethod
    def to_numpy(answer):
        return np.array(answer.astype(mx.float32) if answer.dtype == mx.bfloat16 else answer)

    def _run(self, function, *names):
        compiled = mx.compile(function)
        arrays = [self.x[name] for name in names]

        def call():
            out = compiled(*arrays)
            mx.eval(out)
            return out

        return call

    def gemm_f32(self, row):
        return self._run(mx.matmul, *row.inputs)

    def gemm_bf16(self, row):
        for name in "a", "b":
            self.x[name + "16"] = self.x[name].astype(mx.bfloat16)
        mx.eval(self.x["a16"], self.x["b16"])
        return self._run(mx.matmul, "a16", "b16")

    def gemv_f32(self, row):
        return self._run(mx.matmul, *row.inputs)

    @staticmethod
    def _chain(x, y):
        for _ in range(10):
            x = mx.tanh(x * y + y)
        return x

    def chain10(self, row):
        return self._run(self._chain, *row.inputs)

    # MLX compiles when a function is first called, so what is timed is that call, on little data where that is free.
    # It keeps fused kernels that it has compiled before: only the first is honest.
    def chain10_compile(self, row):
        return self._compiling(self._chain, *row.inputs)

    def _compiling(self, function, *names):
        first = []

        def seconds():
            if not first:
                start = time.perf_counter()
                mx.eval(mx.compile(lambda x, y: function(x, y))(*(self.x[name] for name in names)))
                first.append(time.perf_counter() - start)
            return first[0]

        return seconds

    @staticmethod
    def _small(turns):
        def small(x, w):
            for _ in range(turns):
                x = mx.tanh(x @ w)
            return x

        return small

    def small600(self, row):
        return self._run(self._small(TURNS["small600"]), *row.inputs)

    def compile1000_compile(self, row):
        return self._compiling(self._small(TURNS["compile1000"]), *row.inputs)

    def compile10000_compile(self, row):
        return self._compiling(self._small(TURNS["compile10000"]), *row.inputs)

    def softmax(self, row):
        return self._run(lambda x: mx.softmax(x, axis=-1), *row.inputs)

    def layer_norm(self, row):
        return self._run(lambda x, w: mx.fast.layer_norm(x, w, w, 1e-5), *row.inputs)

    def sum_axis0(self, row):
        return self._run(lambda x: mx.sum(x, axis=0), *row.inputs)

    def sum_all(self, row):
        return self._run(lambda x: mx.sum(x), *row.inputs)

    def argmax(self, row):
        return self._run(lambda x: mx.argmax(x, axis=-1), *row.inputs)

    def conv(self, row):
        return self._run(lambda i, k: mx.conv2d(i, k, stride=1, padding=1), *row.inputs)

    def sort(self, row):
        return self._run(lambda x: mx.sort(x), *row.inputs)

    def argsort(self, row):
        return self._run(lambda x: mx.argsort(x, axis=-1), *row.inputs)

    def cumsum(self, row):
        return self._run(lambda x: mx.cumsum(x, axis=1), *row.inputs)

    def sdpa_causal(self, row):
        return self._run(
            lambda x: mx.fast.scaled_dot_product_attention(x, x, x, scale=0.125, mask="causal"), *row.inputs)

    def take(self, row):
        return self._run(lambda x, i: mx.take(x, i, axis=0), *row.inputs)

    def transpose(self, row):
        return self._run(lambda x: mx.contiguous(mx.transpose(x)), *row.inputs)

    def fft(self, row):
        return self._run(lambda x: mx.fft.fft(x), *row.inputs)

    def cholesky(self, row):
        return self._run(lambda x: mx.linalg.cholesky(x, stream=mx.cpu), *row.inputs)

    def svd(self, row):
        return self._run(lambda x: mx.linalg.svd(x, stream=mx.cpu)[1], *row.inputs)

    def qr(self, row):
        return self._run(lambda x: mx.linalg.qr(x, stream=mx.cpu)[1], *row.inputs)

    def eigh(self, row):
        return self._run(lambda x: mx.linalg.eigh(x, stream=mx.cpu)[0], *row.inputs)

    def solve(self, row):
        return self._run(lambda x: mx.linalg.solve(x, x, stream=mx.cpu), *row.inputs)

    def qmm4(self, row):
        weights = [self.x[name] for name in ("q_words", "q_scales", "q_biases")]
        return self._run(
            lambda x: mx.quantized_matmul(x, *weights, transpose=True, group_size=32, bits=4), *row.inputs)

    def one(self, row):
        return self._run(lambda x: x + 1, *row.inputs)
