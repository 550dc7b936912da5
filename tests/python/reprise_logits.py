"""Logits of Reprise, through the program that LOGITS_TOOL names."""

import os
import subprocess

import numpy as np


def reprise_logits(model, tokens, folder, backend="mlx"):
    out = folder / "logits.f32"
    done = subprocess.run([os.environ["LOGITS_TOOL"], model, out, backend], input=" ".join(map(str, tokens)), text=True,
                          capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return np.fromfile(out, "f4").reshape(len(tokens), -1)
