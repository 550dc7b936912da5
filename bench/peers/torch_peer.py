"""PyTorch: eager, but for chain10, which torch.compile fuses."""

import time

import numpy as np
import torch
import torch.nn.functional as F

from rows import TURNS


class Peer:
    def __init__(self, inputs, threads):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.version = f"torch {torch.__version__}"
        self.x = {name: torch.from_numpy(value.copy()) for name, value in inputs.items() if not name.startswith("q_")}
        self.x["indices"] = self.x["indices"].long()
        # What PyTorch likes best: logically N, C, H, W, in memory N, H, W, C, as the other peers have it.
        for name in "image", "kernel":
            self.x[name] = self.x[name].permute(0, 3, 1, 2)

    def to_numpy(self, answer):
        if answer.ndim == 4 and answer.is_contiguous(memory_format=torch.channels_last) and answer.shape[1] == 64:
            answer = answer.permute(0, 2, 3, 1)
        return np.ascontiguousarray((answer.float() if answer.dtype == torch.bfloat16 else answer).numpy())

    def _run(self, function, *names):
        arrays = [self.x[name] for name in names]
        return lambda: function(*arrays)

    def gemm_f32(self, row):
        return self._run(torch.matmul, *row.inputs)

    def gemm_bf16(self, row):
        for name in "a", "b":
            self.x[name + "16"] = self.x[name].bfloat16()
        return self._run(torch.matmul, "a16", "b16")

    def gemv_f32(self, row):
        return self._run(torch.matmul, *row.inputs)

    @staticmethod
    def _chain(x, y):
        for _ in range(10):
            x = torch.tanh(x * y + y)
        return x

    def chain10(self, row):
        return self._run(torch.compile(self._chain), *row.inputs)

    # The first call compiles; torch keeps results on disk, which a fresh folder in TORCHINDUCTOR_CACHE_DIR prevents.
    def chain10_compile(self, row):
        first = []

        def seconds():
            if not first:
                start = time.perf_counter()
                torch.compile(lambda x, y: self._chain(x, y))(self.x["a"], self.x["b"])
                first.append(time.perf_counter() - start)
            return first[0]

        return seconds

    def small600(self, row):
        def small(x, w):
            for _ in range(TURNS["small600"]):
                x = torch.tanh(x @ w)
            return x

        return self._run(small, *row.inputs)

    def softmax(self, row):
        return self._run(lambda x: F.softmax(x, dim=-1), *row.inputs)

    def layer_norm(self, row):
        return self._run(lambda x, w: F.layer_norm(x, (1024,), w, w, 1e-5), *row.inputs)

    def sum_axis0(self, row):
        return self._run(lambda x: torch.sum(x, 0), *row.inputs)

    def sum_all(self, row):
        return self._run(torch.sum, *row.inputs)

    def argmax(self, row):
        return self._run(lambda x: torch.argmax(x, -1), *row.inputs)

    def conv(self, row):
        return self._run(lambda i, k: F.conv2d(i, k, padding=1), *row.inputs)

    def max_pool(self, row):
        return self._run(lambda i: F.max_pool2d(i, 3, stride=2, padding=1), *row.inputs)

    def sort(self, row):
        return self._run(lambda x: torch.sort(x).values, *row.inputs)

    def argsort(self, row):
        return self._run(lambda x: torch.argsort(x, -1), *row.inputs)

    def cumsum(self, row):
        return self._run(lambda x: torch.cumsum(x, 1), *row.inputs)

    def sdpa_causal(self, row):
        return self._run(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), *row.inputs)

    def take(self, row):
        return self._run(lambda x, i: torch.index_select(x, 0, i), *row.inputs)

    def transpose(self, row):
        return self._run(lambda x: x.t().contiguous(), *row.inputs)

    def fft(self, row):
        return self._run(torch.fft.fft, *row.inputs)

    def cholesky(self, row):
        return self._run(torch.linalg.cholesky, *row.inputs)

    def svd(self, row):
        return self._run(lambda x: torch.linalg.svd(x).S, *row.inputs)

    def qr(self, row):
        return self._run(lambda x: torch.linalg.qr(x).R, *row.inputs)

    def eigh(self, row):
        return self._run(lambda x: torch.linalg.eigh(x).eigenvalues, *row.inputs)

    def solve(self, row):
        return self._run(lambda x: torch.linalg.solve(x, x), *row.inputs)

    def one(self, row):
        return self._run(lambda x: x + 1, *row.inputs)
