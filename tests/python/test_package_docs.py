"""The Python in README.md and docs/python.md runs as it stands there."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(path, after=""):
    text = (ROOT / path).read_text()
    return re.findall(r"```python\n(.*?)```", text[text.index(after):], re.DOTALL)


def test_readme(capsys):
    exec(blocks("README.md", "## From Python")[0], {})
    assert capsys.readouterr().out.strip()


def test_guide(tmp_path, monkeypatch, capsys):
    """Its blocks build on each other. A comment behind a print says what comes out."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("docs/python.md"):
        if "SmolLM2" in block:
            continue  # test_package_runs.py reads the model
        capsys.readouterr()
        exec(block, names)
        wanted = re.findall(r"(?m)^\s*print\(.*\)  # (.*)$", block)
        assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize("path", ["README.md", "docs/python.md"])
def test_names_exist(path):
    import reprise

    for name in re.findall(r"reprise\.([A-Za-z_]\w*)\(", "".join(blocks(path))):
        assert hasattr(reprise, name), name
