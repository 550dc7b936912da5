"""`pip install` of a clean copy of the tree into a fresh environment, and a program that runs far from the tree."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = pathlib.Path(os.environ["REPRISE_WORK"])


def run(*command, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(list(map(str, command)), env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


def test_pip_install():
    shutil.rmtree(WORK, ignore_errors=True)
    tree, environment, elsewhere = WORK / "tree", WORK / "environment", WORK / "elsewhere"
    elsewhere.mkdir(parents=True)
    # What a clone has, and nothing that was built.
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git", "__pycache__", "dist", ".cache"))

    # pip's isolated build installs the same packages once more, at a path that no compiler cache has seen.
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", WORK / "wheels", tree)
    [wheel] = (WORK / "wheels").glob("reprise-*.whl")
    run(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", wheel)

    shutil.rmtree(tree)
    readme = (ROOT / "README.md").read_text()
    [example] = re.findall(r"## From Python\n.*?```python\n(.*?)```", readme, re.DOTALL)
    (elsewhere / "example.py").write_text(example)
    assert run(python, "example.py", cwd=elsewhere).splitlines()[-1]

    where = run(python, "-c", "import reprise; print(reprise.__file__); import mlx.core; "
                "print(open('/proc/self/maps').read())", cwd=elsewhere)
    assert str(environment) in where.splitlines()[0]
    libraries = {line.split()[-1] for line in where.splitlines() if line.endswith(("libmlx.so", "libreprise.so"))}
    assert len(libraries) == 2 and all(str(environment) in library for library in libraries), libraries
    files = run(python, "-m", "pip", "show", "--files", "reprise")
    for name in ("reprise/_reprise.pyi", "reprise/py.typed", "reprise/libreprise.so"):
        assert name in files
    assert "include/" not in files and "bin/" not in files
    run(python, "-m", "pip", "check")
    shutil.rmtree(WORK)
