# Writes the arrays of these examples: with the repository's Python, build/venv/bin/python make_inputs.py
import mlx.core as mx
import numpy as np

np.save("x.npy", np.array([0, 1, -1], np.float32))
np.save("seven.npy", np.array(7, np.int32))
np.save("one.npy", np.array(1, np.int32))
np.save("rows.npy", np.array([[1, 0, 0], [1, 1, 1]], np.float32))
# The keys are the names of the captures.
arrays = {"weight": mx.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "bias": mx.array([0.5, -0.5])}
mx.save_safetensors("dense.safetensors", arrays, metadata={"format": "mlx"})
