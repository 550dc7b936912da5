"""Every layout of weights that a model file may have, against NumPy: small models, each with one thing changed."""

import numpy as np
import pytest

import tiny_llama
from llama_reference import Llama
from reprise_logits import reprise_logits

KINDS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0"]
MATRICES = ["token_embd", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
TOKENS = np.random.default_rng(7).integers(0, tiny_llama.VOCABULARY, 45).tolist()

VARIANTS = {
    **{f"all_{kind}": {"default": kind} for kind in KINDS},
    **{f"embedding_{kind}": {"types": {"token_embd.weight": kind}, "default": "Q8_0"} for kind in KINDS},
    **{f"output_{kind}": {"types": {"output.weight": kind}, "output": True, "default": "Q4_1"} for kind in KINDS},
    **{f"{name}_Q4_1": {"types": {f"{name}.weight": "Q4_1"}} for name in MATRICES},
    **{f"{name}_Q8_0": {"types": {f"{name}.weight": "Q8_0"}, "default": "F16"} for name in MATRICES},
    "half_norms": {"types": {"norm.weight": "F16"}, "default": "Q8_0"},
    "no_kv_heads": {"kv_heads": None},
    "one_kv_head": {"kv_heads": 1, "default": "Q4_0"},
    "one_head": {"heads": 1, "kv_heads": 1, "default": "Q8_0"},
    "eight_heads": {"heads": 8, "kv_heads": 4},
    "one_layer": {"layers": 1},
    "five_layers": {"layers": 5, "default": "Q4_1"},
    "wide_heads": {"head_width": 32, "default": "Q8_0"},
    "narrow_heads": {"head_width": 8},
    "part_of_a_head_turns": {"rope_dims": 8, "default": "Q4_1"},
    "rope_base": {"rope_base": 500000.0},
    "rope_freqs": {"rope_freqs": np.linspace(1, 8, 8)},
    "rope_freqs_and_base": {"rope_freqs": [1, 1, 1, 2, 3, 5, 8, 13], "rope_base": 500000.0, "default": "Q8_0"},
    "rope_linear": {"linear_scaling": 4.0},
    "rope_linear_and_freqs": {"linear_scaling": 2.0, "rope_freqs": np.linspace(1, 3, 8)},
    "wide": {"width": 128, "hidden": 160, "default": "Q4_1"},
    "odd_width": {"width": 40, "hidden": 56, "heads": 5, "kv_heads": 1},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_layout(name, tmp_path):
    path = tiny_llama.write(tmp_path / "tiny.gguf", **VARIANTS[name])
    ours = reprise_logits(path, TOKENS, tmp_path)
    reference = Llama(path).logits(TOKENS)
    assert ours.shape == reference.shape
    assert np.isfinite(ours).all()
    assert reference.std() > 0.3  # a model that says nothing would prove nothing
    np.testing.assert_allclose(ours, reference, rtol=0, atol=2e-4 * reference.std())


@pytest.mark.parametrize("change", [
    {"rope_base": 500000.0}, {"linear_scaling": 4.0}, {"rope_freqs": np.linspace(1, 8, 8)}, {"rope_dims": 8},
    {"kv_heads": None}, {"output": True},
])
def test_every_change_matters(change, tmp_path):
    """Were a key without effect on the reference, its layout would be checked by nothing."""
    plain = Llama(tiny_llama.write(tmp_path / "plain.gguf")).logits(TOKENS)
    changed = Llama(tiny_llama.write(tmp_path / "changed.gguf", **change)).logits(TOKENS)
    assert np.abs(plain - changed).max() > 0.01
