"""Compiles a tensor program once and replays it fast.

    import numpy as np
    import reprise

    b = reprise.Builder()
    x = b.input()
    y = b.tanh(x * 2.0 + 1.0)
    program = b.build([y, b.sum(y, axes=[0])])

    run = reprise.compile(program)
    y, total = run(np.array([0.0, 0.5, 1.0], dtype=np.float32))
    print(y.numpy(), total.item())
"""

from reprise._error import Error
from reprise._reprise import (
    Array,
    Builder,
    CancelToken,
    Executable,
    Generation,
    Plan,
    PlanBuffer,
    PlanStep,
    Program,
    TensorType,
    TextModel,
    Value,
    __version__,
    array,
    compile,
    load_model,
    ops,
    set_threads,
    threads,
)

__all__ = [
    "Array",
    "Builder",
    "CancelToken",
    "Error",
    "Executable",
    "Generation",
    "Plan",
    "PlanBuffer",
    "PlanStep",
    "Program",
    "TensorType",
    "TextModel",
    "Value",
    "__version__",
    "array",
    "compile",
    "load_model",
    "ops",
    "set_threads",
    "threads",
]
