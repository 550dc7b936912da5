"""The Llama family in NumPy, float32, one sequence at a time: plain enough to be believed."""

import gguf
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    x = x.astype("f8")
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


class Llama:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.weights = {t.name: self.dequantised(t) for t in reader.tensors}
        field = lambda key, default=None: (  # noqa: E731
            reader.fields["llama." + key].contents() if "llama." + key in reader.fields else default)
        self.layers = field("block_count")
        self.heads = field("attention.head_count")
        self.kv_heads = field("attention.head_count_kv", self.heads)
        self.head_width = field("attention.key_length", field("embedding_length") // self.heads)
        self.rope_dims = field("rope.dimension_count", self.head_width)
        self.rope_base = field("rope.freq_base", 10000.0)
        self.rope_factor = field("rope.scaling.factor", 1.0) if field("rope.scaling.type") == "linear" else 1.0
        self.eps = field("attention.layer_norm_rms_epsilon", 1e-5)

    @staticmethod
    def dequantised(tensor):
        shape = [int(d) for d in reversed(tensor.shape)]
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape).astype("f4")

    def rotate(self, x):
        """Turns the pairs of neighbours (0, 1), (2, 3), ... of each head by position times frequency."""
        positions = np.arange(x.shape[0]) / self.rope_factor
        frequencies = self.rope_base ** (-np.arange(0, self.rope_dims, 2) / self.rope_dims)
        if "rope_freqs.weight" in self.weights:
            frequencies = frequencies / self.weights["rope_freqs.weight"]
        angles = (positions[:, None] * frequencies)[:, None, :]
        cos, sin = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
        out = x.copy()
        even, odd = x[..., 0:self.rope_dims:2], x[..., 1:self.rope_dims:2]
        out[..., 0:self.rope_dims:2] = even * cos - odd * sin
        out[..., 1:self.rope_dims:2] = even * sin + odd * cos
        return out

    def attention(self, x, block):
        count = x.shape[0]
        heads = lambda name, n: (x @ block(name).T).reshape(count, n, self.head_width)  # noqa: E731
        q = self.rotate(heads("attn_q", self.heads))
        k = self.rotate(heads("attn_k", self.kv_heads))
        v = heads("attn_v", self.kv_heads)
        later = np.triu(np.ones((count, count), bool), 1)
        out = np.empty_like(q)
        for h in range(self.heads):
            group = h * self.kv_heads // self.heads
            scores = q[:, h] @ k[:, group].T / np.float32(np.sqrt(self.head_width))
            out[:, h] = softmax(np.where(later, np.float32(-np.inf), scores)) @ v[:, group]
        return out.reshape(count, -1) @ block("attn_output").T

    def feed_forward(self, x, block):
        gate = x @ block("ffn_gate").T
        return (gate / (1 + np.exp(-gate)) * (x @ block("ffn_up").T)) @ block("ffn_down").T

    def logits(self, tokens):
        w = self.weights
        x = w["token_embd.weight"][tokens]
        for i in range(self.layers):
            block = lambda name: w[f"blk.{i}.{name}.weight"]  # noqa: B023, E731
            x = x + self.attention(rms_norm(x, block("attn_norm"), self.eps), block)
            x = x + self.feed_forward(rms_norm(x, block("ffn_norm"), self.eps), block)
        x = rms_norm(x, w["output_norm.weight"], self.eps)
        return x @ w.get("output.weight", w["token_embd.weight"]).T
