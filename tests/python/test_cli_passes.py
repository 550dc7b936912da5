"""reprise passes."""

import pytest

from cli import failure, output

PROGRAM = """reprise 1
inputs 1
%0 = negate in0
%1 = negate %0
%2 = tanh %1
%3 = tanh %1
%4 = add %2, %3
return %4
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.rp").write_text(PROGRAM)
    return tmp_path / "p.rp"


def test_they_are_listed():
    names = [line.split()[0] for line in output("passes").splitlines()]
    assert names[0] == "algebraic_simplification" and names[-1] == "dead_code" and len(names) == len(set(names)) == 7


def after(program, *words):
    lines = output("passes", program, "--input", "f32[3]", *words).splitlines()
    return [line.split(" = ")[1] for line in lines if line.startswith("%")]


def test_a_program_after_them(program):
    assert after(program) == ["tanh in0 : f32[3]", "add %0, %0 : f32[3]"]
    assert len(after(program, "--disable", "all")) == 5
    assert len(after(program, "--only", "common_subexpressions", "dead_code")) == 4
    assert len(after(program, "--disable", "algebraic_simplification")) == 4


@pytest.mark.parametrize("words, says", [
    (["no.rp"], "no.rp"),
    (["p.rp"], "0 inputs given"),
    (["p.rp", "--input", "f32[x]"], "f32[x]"),
    (["--disable", "dead_code"], "need a program"),
    (["p.rp", "--input", "f32[3]", "--disable", "dead_cod"], "dead_code"),
    (["p.rp", "--input", "f32[3]", "--only", "x"], "'x'"),
])
def test_bad_arguments(program, words, says):
    assert says in failure(2, "passes", *words, cwd=program.parent)
