"""What mypy says of programs that use the package `reprise`, and of its stubs."""

import os
import pathlib
import subprocess
import sys

import reprise


def check_types(tmp_path, code):
    (tmp_path / "user.py").write_text(code)
    package = pathlib.Path(reprise.__file__).parents[1]
    environment = dict(os.environ, MYPYPATH="" if package.name == "site-packages" else str(package))
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "user.py"],
                          cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300).stdout


def test_the_types_are_right(tmp_path):
    """Those of the package itself too: mypy reads its files as it reads these."""
    out = check_types(tmp_path, """
import numpy as np
import reprise
from numpy.typing import NDArray

b = reprise.Builder()
x: reprise.Value = b.input()
y = 1.0 - b.tanh(x * 2.0) * (x == 3)
q, r = b.qr(x)
[end] = b.while_loop([x], lambda x: x < 3, lambda x: [x + 1])
program = b.build([y, b.sum(y, axes=[0]), b.concatenate(q, r, axis=-1)], keep=[end])
run = reprise.compile(program, device="cpu", max_specialisations=3)
outs: list[reprise.Array] = run(np.ones(3), 2.0, donate=[1], callback=lambda i, xs: [xs[0], 3])
a: NDArray[np.float32] = outs[0].numpy()
n: bool | int | float | complex = outs[1].item()
text: str = reprise.Program.load("x").text + reprise.Error("x").code + reprise.__version__
names: list[str] = [op["name"] for op in reprise.ops()]
""")
    assert out.startswith("Success"), out
    out = check_types(tmp_path, """
import reprise
b = reprise.Builder()
b.sum(b.input(), axis=0)
b.sum(b.input())
reprise.compile("x")
""")
    assert all(f"user.py:{line}: error" in out for line in (4, 5, 6)), out
